// The flags that both daemons have.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.h"

namespace namdb::config {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitEnvironment = 3;

// The exit code of a daemon that cannot start or go on, by the reason. kExitEnvironment is for causes that
// stay until an operator changes something: to start the daemon again before that is of no use.
int exit_code_of(ErrorCode code);

// Where a daemon of that kind ("memory", "compute") keeps its data unless told otherwise.
std::string default_data_folder(std::string_view kind);

// The value of --data, before the command line is parsed: DIR/config.toml is read where --config names no
// other file, so the folder must be known first.
std::string data_argument(int argc, char** argv, std::string otherwise);

// Prints the mistake in a daemon's flags on standard error.
void say_wrong_usage(std::string_view daemon, const Status& status);

// The end of parsing: the flags, or nullopt and the exit code. `done`: help or version
// was printed, and the process is to end with that code.
template <typename Flags>
std::optional<Flags> flags_or_exit(std::string_view daemon, Result<Flags> flags, std::optional<int> done,
                                   int& exit_code) {
  if (!flags.ok()) {
    say_wrong_usage(daemon, flags.status());
    done = kExitUsage;
  }
  if (!done) return std::move(flags).value();
  exit_code = *done;
  return std::nullopt;
}

}  // namespace namdb::config
