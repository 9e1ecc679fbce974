#include "common/reactor/system_error.h"

#include <string>
#include <system_error>

namespace namdb::reactor {

Status system_error(ErrorCode code, std::string_view what, int error_number) {
  std::string message(what);
  message += ": ";
  message += std::generic_category().message(error_number);
  return Status(code, std::move(message));
}

}  // namespace namdb::reactor
