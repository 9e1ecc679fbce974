// `sqltest --isolation`: runs isolation specs against servers and compares their answers.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace namdb::sqltest {

// The expected answers: those of the spec, or those of serial orders (serial_orders.h).
enum class Comparison { expected, serializable, strict };

struct IsolationCommand {
  std::vector<std::string> connections;  // one a server, as libpq takes it; at least one
  std::vector<std::string> files;
  std::chrono::milliseconds patience{60'000};
  bool json = false;  // the summary; differences go to standard error
  Comparison comparison = Comparison::expected;
  bool accept = false;  // what was answered becomes what is expected
};

// The exit code: 0 all as expected, 1 not, 2 a malformed file, 3 no connection or an unwritable file.
// Malformed files are told of before anything runs.
int run_isolation(const IsolationCommand& command);

}  // namespace namdb::sqltest
