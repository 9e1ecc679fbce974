// Shared by all commands of nambench: exit codes, and the flags for output.
#pragma once

#include <string>

#include "common/base/error.h"

namespace CLI {
class App;
}

namespace namdb::nambench {

inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kEnvironment = 3;

struct Common {
  bool json = false;
  bool quiet = false;
};

void add_common(CLI::App& command, Common& common);
// Prints the error; the exit code that goes with it.
int fail(const Status& status);
// To standard output.
void print(const std::string& text);

// A command: its flags, and what it does with them.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;
  virtual int run() = 0;

 protected:
  Common common_;
};

}  // namespace namdb::nambench
