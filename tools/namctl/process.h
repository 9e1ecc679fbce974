// Processes that namctl starts in the background and finds again later. A process is named by its pid, its
// start time and the machine's boot id together. So a pid that the system has reused since is never taken for
// ours. Signals go through a pidfd that was checked after it was opened.
//
// One thread. Errors: configuration for what the environment refuses, with the reason in words.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace namdb::namctl {

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_time_ticks = 0;  // since boot, field 22 of /proc/PID/stat
  std::string boot_id;
};

// A process that is alive; closed with the object. Movable.
class Process {
 public:
  // The living process of that identity, or nothing when it has ended (a zombie has ended).
  static std::optional<Process> find(const ProcessIdentity& identity);
  // The living process of that pid, of any program.
  static std::optional<Process> find(pid_t pid);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  const ProcessIdentity& identity() const { return identity_; }
  // False once it has ended.
  bool alive() const;
  // Does nothing when it has ended.
  void signal(int number) const;
  // Waits until it has ended, at most so long: whether it has.
  bool wait(int timeout_ms) const;
  // For a child of this process that has ended: how, in words ("exit code 3", "signal 9").
  std::string end_in_words() const;

 private:
  friend Result<Process> start_in_background(const std::vector<std::string>& argv,
                                             const std::filesystem::path& log);
  Process(int descriptor, ProcessIdentity identity)
      : descriptor_(descriptor), identity_(std::move(identity)) {}
  // A living process or a child that ended and was not waited for.
  static std::optional<Process> open(pid_t pid);
  int descriptor_ = -1;
  ProcessIdentity identity_;
};

// Starts argv[0] (an absolute path) in a session of its own, in the root folder, with no input and its output
// appended to `log`. An error when it cannot be executed; a program that ends at once is given back ended.
Result<Process> start_in_background(const std::vector<std::string>& argv, const std::filesystem::path& log);

// Pid files: the identity, written as a whole or not at all.
Status write_pid_file(const std::filesystem::path& path, const ProcessIdentity& identity);
// The process that the file names if it is alive. A file whose process has ended is removed.
std::optional<Process> process_of_pid_file(const std::filesystem::path& path);

}  // namespace namdb::namctl
