// The flags that both daemons have.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"

namespace namdb::config {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitEnvironment = 3;

// Of a daemon that cannot start or go on, by the reason. kExitEnvironment is for causes that stay until
// somebody changes something: starting the daemon again before is of no use.
int exit_code_of(ErrorCode code);

// Where a daemon of that kind ("memory", "compute") keeps its data unless told otherwise.
std::string default_data_folder(std::string_view kind);

// The value of --data, before the command line is parsed: DIR/config.toml is read where --config names no
// other file, so the folder must be known first.
std::string data_argument(int argc, char** argv, std::string otherwise);

}  // namespace namdb::config
