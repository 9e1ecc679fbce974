// The log of a daemon: lines on standard error, through spdlog's default logger.
//
// A line never blocks the thread that logs it and never ends the process. A thread of the log's own writes;
// what it cannot keep up with waits, 4096 lines at most, and then the oldest are dropped. A reader that is
// gone (a closed pipe) costs lines, nothing else: SIGPIPE is ignored from here on. How many lines were
// dropped is said as soon as lines are written again.
#pragma once

#include <memory>
#include <string>

namespace namdb::config {

class DaemonLog {
 public:
  // `level` is one of the names that --log-level takes. Construct it in main() before any other thread.
  DaemonLog(const std::string& daemon, const std::string& level, int descriptor = 2);
  DaemonLog(const DaemonLog&) = delete;
  DaemonLog& operator=(const DaemonLog&) = delete;
  // Writes what waits, for a second at most where nobody reads it. The logger before is the default again.
  ~DaemonLog();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace namdb::config
