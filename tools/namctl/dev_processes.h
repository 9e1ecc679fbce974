// The daemons of `namctl dev up` as processes: one call at a time on a folder, starting them until they are
// ready, stopping them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "tools/namctl/dev_options.h"
#include "tools/namctl/process.h"

namespace namdb::namctl {

inline constexpr std::uint32_t kStopPatience_s = 10;

// Error configuration, for a refusal of the environment.
Status environment_error(std::string message, std::string hint = {});

// An exclusive lock on DIR/run/lock for as long as the object lives.
class FolderLock {
 public:
  // Waits for so long for another call that has it.
  static Result<std::unique_ptr<FolderLock>> take(const std::filesystem::path& data, std::uint32_t timeout_s);
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int descriptor_;
};

// The daemon of that name that an up of this folder started, if it lives.
std::optional<Process> running(const std::filesystem::path& data, const std::string& name);

// True when it ran; it is stopped and its pid file removed then. One that does not end within the time is
// killed.
Result<bool> stop_daemon(const std::filesystem::path& data, const std::string& name, std::uint32_t timeout_s,
                         const Progress& progress);

// A port that a daemon of this cluster had may be about to become free.
bool becomes_free(std::uint16_t port, bool was_ours);

// Whether a daemon that was started is ready, by its address or by what it logged from an offset on.
using Ready = bool (*)(const std::string& address, const std::filesystem::path& log,
                       std::uintmax_t log_begin);
bool memory_is_ready(const std::string& address, const std::filesystem::path& log, std::uintmax_t log_begin);
// Where no socket listens.
bool memory_says_ready(const std::string& address, const std::filesystem::path& log,
                       std::uintmax_t log_begin);
bool compute_is_ready(const std::string& address, const std::filesystem::path& log, std::uintmax_t log_begin);

// The daemons that this call started, stopped again unless it succeeded.
class Started {
 public:
  // `progress` outlives it.
  Started(std::filesystem::path data, const Progress& progress, std::uint32_t timeout_s)
      : data_(std::move(data)), progress_(progress), patience_(timeout_s) {}
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  ~Started();
  // Starts it and waits until `ready`, its end, or until it has logged nothing for the time: a memory server
  // says how far it has come with its data.
  Status start(DaemonState& daemon, const std::vector<std::string>& command, const Ready& ready);
  // The two halves of it, where daemons wait for each other.
  Status launch(const DaemonState& daemon, const std::vector<std::string>& command);
  Status await(DaemonState& daemon, const Ready& ready);
  void keep() { processes_.clear(); }

 private:
  std::filesystem::path data_;
  const Progress& progress_;
  std::chrono::seconds patience_;
  struct Launched {
    std::string name;
    Process process;
    std::uintmax_t log_begin;  // where its log begins in the file
  };
  std::vector<Launched> processes_;
};

}  // namespace namdb::namctl
