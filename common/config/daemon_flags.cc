#include "common/config/daemon_flags.h"

#include <cstdlib>
#include <iostream>

namespace namdb::config {

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::configuration:
    case ErrorCode::corrupt_data:           // in the data folder
    case ErrorCode::io_error:               // of its disk, which may refuse a file, or be read-only
    case ErrorCode::invalid_authorization:  // another cluster's key
      return kExitEnvironment;
    default:
      return kExitFailure;
  }
}

std::string default_data_folder(std::string_view kind) {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0') {
    return std::string(state) + "/namdb/" + std::string(kind);
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::string(home) + "/.local/state/namdb/" + std::string(kind);
  }
  return "/var/lib/namdb/" + std::string(kind);
}

std::string data_argument(int argc, char** argv, std::string otherwise) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--data=")) return std::string(argument.substr(7));
    if (argument == "--data" && i + 1 < argc) return argv[i + 1];
  }
  return otherwise;
}

void say_wrong_usage(std::string_view daemon, const Status& status) {
  std::cerr << daemon << ": " << status.message() << "\n";
}

}  // namespace namdb::config
