// The log of a daemon: lines on standard error, through spdlog's default logger.
//
// A line never blocks the thread that logs it and never ends the process. The log has a thread of its own,
// which writes. At most 4096 lines wait for it; beyond that the oldest are dropped. If the reader is gone (a
// closed pipe), lines are lost and nothing else: SIGPIPE is ignored from here on. When lines can be written
// again, the log says how many were dropped.
//
// As json each line is an object, with the time in UTC:
//   {"time":"2026-01-31T12:00:00.000Z","level":"info","daemon":"nam-memoryd","message":"..."}
#pragma once

#include <memory>
#include <string>

namespace namdb::config {

class DaemonLog {
 public:
  // `level` is one of the names that --log-level takes, `format` of those that --log-format does.
  // Construct it in main() before any other thread.
  DaemonLog(const std::string& daemon, const std::string& level, const std::string& format = "text",
            int descriptor = 2);
  DaemonLog(const DaemonLog&) = delete;
  DaemonLog& operator=(const DaemonLog&) = delete;
  // Writes the lines that wait: for at most a second if no process reads them. The logger before is the
  // default again.
  ~DaemonLog();

  // Any thread.
  static void set_level(const std::string& level);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace namdb::config
