// An operating system's error as a Status.
#pragma once

#include <string_view>

#include "common/base/error.h"

namespace namdb::reactor {

// "what: <text of the error number>". `error_number` is positive, as in errno.
Status system_error(ErrorCode code, std::string_view what, int error_number);

}  // namespace namdb::reactor
