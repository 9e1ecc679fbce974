// The log of a daemon: lines on standard error, through spdlog's default logger.
//
// A line never blocks the thread that logs it and never ends the process. The log has a thread of its own,
// which writes. At most 4096 lines wait for it; beyond that the oldest are dropped. If the reader is gone (a
// closed pipe), lines are lost and nothing else: SIGPIPE is ignored from here on. When lines can be written
// again, the log says how many were dropped.
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
  // Writes the lines that wait, for a second at most where nobody reads them. The logger before is the
  // default again.
  ~DaemonLog();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace namdb::config
