#include "tools/namctl/dev_processes.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <thread>

#include "tools/namctl/address.h"

namespace namdb::namctl {
namespace {

namespace fs = std::filesystem;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr auto kPollInterval = std::chrono::milliseconds(20);
// The kernel closes the sockets of a killed io_uring process a little after its end.
constexpr auto kPortRelease = std::chrono::seconds(5);
// The last lines that a daemon printed since `offset`: why it did not start.
std::string log_tail(const fs::path& log, std::uintmax_t offset) {
  std::ifstream file(log);
  file.seekg(static_cast<std::streamoff>(offset));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  std::string tail;
  for (std::size_t i = lines.size() > 5 ? lines.size() - 5 : 0; i < lines.size(); ++i)
    tail += "\n  " + lines[i];
  return tail;
}

// Or refuses this one, by the rules and roles of its cluster.
bool accepts_clients(const std::string& address) {
  if (!answers(address)) return false;
  const std::string port = address.substr(address.rfind(':') + 1);
  const std::string parameters =
      "host=127.0.0.1 port=" + port +
      " dbname=namdb user=namctl connect_timeout=5 sslmode=disable gssencmode=disable";
  PGconn* connection = PQconnectdb(parameters.c_str());
  const bool accepted = PQstatus(connection) == CONNECTION_OK || PQconnectionNeedsPassword(connection) == 1 ||
                        std::string_view(PQerrorMessage(connection)).find("FATAL:") != std::string_view::npos;
  PQfinish(connection);
  return accepted;
}

// Asks it to end, and makes it end when it does not.
void stop(const Process& process, const std::string& name, std::uint32_t timeout_s,
          const Progress& progress) {
  process.signal(SIGTERM);
  if (process.wait(static_cast<int>(timeout_s) * 1000)) return;
  progress(name + " does not end: killing it");
  process.signal(SIGKILL);
  process.wait(10'000);
}

}  // namespace

Status environment_error(std::string message, std::string hint) {
  return {ErrorCode::configuration, std::move(message), std::move(hint)};
}

Result<std::unique_ptr<FolderLock>> FolderLock::take(const fs::path& data, std::uint32_t timeout_s) {
  const fs::path path = data / "run" / "lock";
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return environment_error("cannot write " + path.string());
  auto lock = std::make_unique<FolderLock>(descriptor);
  const SteadyTime deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s);
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      return environment_error("another namctl is starting or stopping the cluster on " + data.string());
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return lock;
}

FolderLock::~FolderLock() {
  ::close(descriptor_);
}

std::optional<Process> running(const fs::path& data, const std::string& name) {
  return process_of_pid_file(pid_file(data, name));
}

Result<bool> stop_daemon(const fs::path& data, const std::string& name, std::uint32_t timeout_s,
                         const Progress& progress) {
  const std::optional<Process> process = running(data, name);
  if (!process) return false;
  progress("stopping " + name);
  stop(*process, name, timeout_s, progress);
  if (process->alive()) return environment_error(name + " cannot be stopped");
  std::error_code ignored;
  fs::remove(pid_file(data, name), ignored);
  return true;
}

bool becomes_free(std::uint16_t port, bool was_ours) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + kPortRelease;
  while (!port_is_free(port)) {
    if (!was_ours || std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
  return true;
}

bool memory_is_ready(const std::string& address, const fs::path& /*log*/, std::uintmax_t /*log_begin*/) {
  return answers(address);
}

bool memory_says_ready(const std::string& address, const fs::path& log, std::uintmax_t log_begin) {
  std::ifstream file(log);
  file.seekg(static_cast<std::streamoff>(log_begin));
  for (std::string line; std::getline(file, line);) {
    if (line.find("ready at " + address) != std::string::npos) return true;
  }
  return false;
}

bool compute_is_ready(const std::string& address, const fs::path& /*log*/, std::uintmax_t /*log_begin*/) {
  return accepts_clients(address);
}

Started::~Started() {
  for (auto entry = processes_.rbegin(); entry != processes_.rend(); ++entry) {
    stop(entry->process, entry->name, kStopPatience_s, progress_);
    std::error_code ignored;
    fs::remove(pid_file(data_, entry->name), ignored);
  }
}

Status Started::start(DaemonState& daemon, const std::vector<std::string>& command, const Ready& ready) {
  Status launched = launch(daemon, command);
  return launched.ok() ? await(daemon, ready) : launched;
}

Status Started::launch(const DaemonState& daemon, const std::vector<std::string>& command) {
  const fs::path log = log_file(data_, daemon.name);
  std::error_code ignored;
  const std::uintmax_t log_begin = fs::exists(log, ignored) ? fs::file_size(log, ignored) : 0;
  progress_("starting " + daemon.name + " at " + daemon.address);
  Result<Process> result = start_in_background(command, log);
  if (!result.ok()) return result.status();
  processes_.push_back({daemon.name, std::move(result).value(), log_begin});
  return write_pid_file(pid_file(data_, daemon.name), processes_.back().process.identity());
}

Status Started::await(DaemonState& daemon, const Ready& ready) {
  const auto launched = std::ranges::find(processes_, daemon.name, &Launched::name);
  const Process& process = launched->process;
  const fs::path log = log_file(data_, daemon.name);
  const std::uintmax_t log_begin = launched->log_begin;
  std::error_code ignored;
  std::uintmax_t log_end = log_begin;
  SteadyTime deadline = std::chrono::steady_clock::now() + patience_;
  while (!ready(daemon.address, log, log_begin)) {
    if (process.wait(static_cast<int>(kPollInterval.count()))) {
      return environment_error(daemon.name + " ended while it started (" + process.end_in_words() +
                               "):" + log_tail(log, log_begin));
    }
    const std::uintmax_t logged = fs::file_size(log, ignored);
    const SteadyTime now = std::chrono::steady_clock::now();
    if (daemon.name.starts_with("memory-") && std::exchange(log_end, logged) != logged)
      deadline = now + patience_;
    if (now > deadline) {
      return environment_error(daemon.name + " was not ready in time:" + log_tail(log, log_begin),
                               "--timeout, or see " + log.string());
    }
  }
  daemon.pid = process.identity().pid;
  daemon.started = true;
  return {};
}

}  // namespace namdb::namctl
