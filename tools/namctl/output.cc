#include "tools/namctl/output.h"

namespace namdb::namctl {

int report_error(const Output& output, const Status& status) {
  std::fprintf(stderr, "namctl: %s%s%s%s\n", status.message().c_str(), status.hint().empty() ? "" : " (",
               status.hint().c_str(), status.hint().empty() ? "" : ")");
  output.document({{"error", status.message()}, {"hint", status.hint()}, {"code", status.info().name}});
  return status.code() == ErrorCode::configuration ? kExitEnvironment : kExitOther;
}

}  // namespace namdb::namctl
