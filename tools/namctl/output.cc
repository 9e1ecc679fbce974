#include "tools/namctl/output.h"

#include <nlohmann/json.hpp>

namespace namdb::namctl {

void Output::document(const nlohmann::json& content, bool one_line) const {
  if (!json_) return;
  std::printf("%s\n", content.dump(one_line ? -1 : 2).c_str());
  std::fflush(stdout);
}

int report_error(const Output& output, const Status& status) {
  std::fprintf(stderr, "namctl: %s%s%s%s\n", status.message().c_str(), status.hint().empty() ? "" : " (",
               status.hint().c_str(), status.hint().empty() ? "" : ")");
  output.document({{"error", status.message()}, {"hint", status.hint()}, {"code", status.info().name}});
  const bool refused = status.code() == ErrorCode::configuration || status.code() == ErrorCode::io_error;
  return refused ? kExitEnvironment : kExitOther;
}

}  // namespace namdb::namctl
