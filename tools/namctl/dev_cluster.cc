#include "tools/namctl/dev_cluster.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <span>
#include <thread>

#include "tools/namctl/address.h"
#include "tools/namctl/process.h"

namespace namdb::namctl {
namespace {

namespace fs = std::filesystem;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::uint16_t kFirstFabricPort = 7400;
constexpr std::uint16_t kDefaultSqlPort = 5433;
constexpr std::uint64_t kLargestDefaultRegion_bytes = 4ULL << 30;
constexpr auto kPollInterval = std::chrono::milliseconds(20);
// The kernel closes the sockets of a killed io_uring process a little after its end.
constexpr auto kPortRelease = std::chrono::seconds(5);
constexpr std::uint32_t kStopPatience_s = 10;

Status environment_error(std::string message, std::string hint = {}) {
  return {ErrorCode::configuration, std::move(message), std::move(hint)};
}

// An exclusive lock on DIR/run/lock for as long as the object lives.
class FolderLock {
 public:
  static Result<std::unique_ptr<FolderLock>> take(const fs::path& data, std::uint32_t timeout_s) {
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
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() { ::close(descriptor_); }

 private:
  int descriptor_;
};

Status make_folders(const fs::path& data) {
  std::error_code error;
  for (const fs::path& folder : {data, data / "run", data / "log"}) {
    const bool made = fs::create_directories(folder, error);
    if (error) return environment_error("cannot create " + folder.string() + ": " + error.message());
    // Only the owner may read their contents (keys, sockets, one day data). A folder that was there keeps its
    // permissions.
    if (!made) continue;
    fs::permissions(folder, fs::perms::owner_all, error);
    if (error) return environment_error("cannot own " + folder.string() + ": " + error.message());
  }
  return {};
}

Status make_key(const fs::path& data) {
  const fs::path path = key_file(data);
  if (fs::exists(path)) return {};
  unsigned char key[32];
  if (::getrandom(key, sizeof key, 0) != static_cast<ssize_t>(sizeof key)) {
    return environment_error("the system has no randomness for the cluster key");
  }
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written =
      descriptor >= 0 && ::write(descriptor, key, sizeof key) == static_cast<ssize_t>(sizeof key);
  if (descriptor >= 0) ::close(descriptor);
  return written ? Status() : environment_error("cannot write " + path.string());
}

fs::path program_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path("/usr/bin") : self.parent_path();
}

Result<std::string> daemon_program(const char* name) {
  const fs::path path = program_folder() / name;
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path.string();
  return environment_error(path.string() + " is missing", "build it: ninja -C build/release");
}

// nam-memoryd's own default, shared by all memory servers of this machine.
std::uint64_t default_region_bytes(std::uint32_t memory_servers) {
  const std::uint64_t memory_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                     static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t share = std::min(memory_bytes / 4, kLargestDefaultRegion_bytes) / memory_servers;
  return share >> 21 << 21;
}

std::string sql_address(const ClusterFile& cluster, std::uint32_t server) {
  return "127.0.0.1:" + std::to_string(cluster.sql_port + server);
}

std::optional<Process> running(const fs::path& data, const std::string& name) {
  return process_of_pid_file(pid_file(data, name));
}

DevCluster state_of(const fs::path& data, const ClusterFile& settings) {
  DevCluster cluster{settings, {}};
  for (std::uint32_t k = 0; k < settings.memory_servers; ++k) {
    cluster.daemons.push_back({memory_name(k), settings.memory_addresses[k], 0, false});
  }
  for (std::uint32_t k = 0; k < settings.compute_servers; ++k) {
    cluster.daemons.push_back({compute_name(k), sql_address(settings, k), 0, false});
  }
  for (DaemonState& daemon : cluster.daemons) {
    const std::optional<Process> process = running(data, daemon.name);
    if (process) daemon.pid = process->identity().pid;
  }
  return cluster;
}

bool any_runs(const DevCluster& cluster) {
  return std::any_of(cluster.daemons.begin(), cluster.daemons.end(),
                     [](const DaemonState& daemon) { return daemon.pid != 0; });
}

Result<std::vector<std::string>> choose_memory_addresses(const fs::path& data, const ClusterFile& settings,
                                                         const DevOptions& options) {
  const std::uint16_t fabric_port = options.fabric_port;
  std::vector<std::string> addresses;
  if (settings.fabric == "shm") {
    for (std::uint32_t k = 0; k < settings.memory_servers; ++k) {
      Result<fs::path> path = socket_path(data, memory_name(k) + ".sock");
      if (!path.ok()) return path.status();
      addresses.push_back("unix:" + path->string());
    }
    return addresses;
  }
  std::uint32_t port = fabric_port != 0 ? fabric_port : kFirstFabricPort;
  while (addresses.size() < settings.memory_servers) {
    if (port > 65'535) return environment_error("no free port for the memory servers");
    if (port_is_free(static_cast<std::uint16_t>(port))) {
      addresses.push_back(options.fabric_host + ":" + std::to_string(port));
    } else if (fabric_port != 0) {
      return environment_error("port " + std::to_string(port) + " is in use", "choose another --fabric-port");
    }
    ++port;
  }
  return addresses;
}

// A port that a daemon of this cluster had may be about to become free.
bool becomes_free(std::uint16_t port, bool was_ours) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + kPortRelease;
  while (!port_is_free(port)) {
    if (!was_ours || std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
  return true;
}

// The settings to run with: the running cluster's, or those asked for.
Result<ClusterFile> settle(const DevOptions& options, const std::optional<DevCluster>& present) {
  const bool reuse = present && any_runs(*present);
  ClusterFile settings;
  settings.fabric = "shm";
  settings.sql_port = kDefaultSqlPort;
  if (reuse) settings = present->settings;
  const ClusterFile before = settings;
  settings.fabric = options.fabric.value_or(settings.fabric);
  settings.memory_servers = options.memory_servers.value_or(settings.memory_servers);
  settings.compute_servers = options.compute_servers.value_or(settings.compute_servers);
  settings.sql_port = options.sql_port.value_or(settings.sql_port);
  settings.protocol = options.protocol.value_or(settings.protocol);
  settings.stages = options.stages.value_or(settings.stages);
  if (!options.region_bytes.empty()) settings.region_bytes = options.region_bytes;
  if (!options.region_limit.empty()) settings.region_limit = options.region_limit;
  const bool same = settings == before;
  const auto take = [](const std::vector<std::string>& given, std::vector<std::string>& remembered) {
    if (!given.empty()) remembered = given;
  };
  take(options.procedure_libraries, settings.procedure_libraries);
  for (std::string& library : settings.procedure_libraries) library = fs::absolute(library).string();
  take(options.memory_flags, settings.memory_flags);
  take(options.compute_flags, settings.compute_flags);
  if (!reuse || same) return settings;
  return environment_error("a cluster with other options runs on " + options.data.string() + " (" +
                               before.fabric + ", port " + std::to_string(before.sql_port) + ", " +
                               std::to_string(before.memory_servers) + " memory and " +
                               std::to_string(before.compute_servers) + " compute servers" +
                               (before.protocol.empty() ? "" : ", protocol " + before.protocol) +
                               (before.stages.empty() ? "" : ", stages " + before.stages) +
                               (before.region_bytes.empty() ? "" : ", regions of " + before.region_bytes) +
                               (before.region_limit.empty() ? "" : " up to " + before.region_limit) + ")",
                           "namctl dev down --data " + options.data.string());
}

std::vector<std::string> memory_command(const std::string& program, const DevOptions& options,
                                        const ClusterFile& settings, std::uint32_t server) {
  std::vector<std::string> command = {program,
                                      "--data",
                                      (options.data / memory_name(server)).string(),
                                      "--fabric",
                                      settings.fabric,
                                      "--listen",
                                      settings.memory_addresses[server],
                                      "--server-id",
                                      std::to_string(server),
                                      "--server-count",
                                      std::to_string(settings.memory_servers),
                                      "--cluster-key",
                                      key_file(options.data).string(),
                                      "--region-bytes",
                                      !settings.region_bytes.empty()
                                          ? settings.region_bytes
                                          : std::to_string(default_region_bytes(settings.memory_servers))};
  if (!settings.protocol.empty()) command.insert(command.end(), {"--protocol", settings.protocol});
  if (!settings.stages.empty()) command.insert(command.end(), {"--stages", settings.stages});
  if (!settings.region_limit.empty())
    command.insert(command.end(), {"--region-limit", settings.region_limit});
  command.insert(command.end(), settings.memory_flags.begin(), settings.memory_flags.end());
  return command;
}

std::vector<std::string> compute_command(const std::string& program, const DevOptions& options,
                                         const ClusterFile& settings, std::uint32_t server) {
  std::vector<std::string> command = {program,
                                      "--data",
                                      (options.data / compute_name(server)).string(),
                                      "--fabric",
                                      settings.fabric,
                                      "--listen",
                                      sql_address(settings, server),
                                      "--cluster-key",
                                      key_file(options.data).string()};
  for (const std::string& address : settings.memory_addresses) {
    command.insert(command.end(), {"--memory-server", address});
  }
  // Where the path is too long for a socket there is none: loopback is always there.
  const fs::path sockets = options.data / "run";
  if (sockets.native().size() + std::string_view("/.s.PGSQL.65535").size() < 108) {
    command.insert(command.end(), {"--unix-socket-dir", sockets.string()});
  }
  std::vector<std::string> libraries = settings.procedure_libraries;
  const fs::path workloads = program_folder().parent_path() / "lib" / "libnamdb_workloads.so";
  std::error_code ignored;
  if (libraries.empty() && fs::exists(workloads, ignored)) libraries.push_back(workloads.string());
  for (const std::string& library : libraries) {
    command.insert(command.end(), {"--procedure-library", library});
  }
  // Pairs, as on a rack where each machine runs one of both.
  if (const std::size_t servers = settings.memory_addresses.size(); servers > 1) {
    command.insert(command.end(), {"--beside", std::to_string(server % servers)});
  }
  command.insert(command.end(), settings.compute_flags.begin(), settings.compute_flags.end());
  return command;
}

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

bool accepts_clients(const std::string& address) {
  if (!answers(address)) return false;
  const std::string port = address.substr(address.rfind(':') + 1);
  const std::string parameters =
      "host=127.0.0.1 port=" + port +
      " dbname=namdb user=namctl connect_timeout=5 sslmode=disable gssencmode=disable";
  PGconn* connection = PQconnectdb(parameters.c_str());
  const bool accepted = PQstatus(connection) == CONNECTION_OK;
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

// True when it ran; it is stopped and its pid file removed then.
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

// Stops the memory servers of a cluster that has lost one of them.
Status stop_incomplete_memory(const fs::path& data, DevCluster& cluster, const Progress& progress) {
  const std::span<DaemonState> memory(cluster.daemons.data(), cluster.settings.memory_servers);
  const auto runs = [](const DaemonState& daemon) { return daemon.pid != 0; };
  const auto dead = std::find_if_not(memory.begin(), memory.end(), runs);
  if (dead == memory.end() || std::none_of(memory.begin(), memory.end(), runs)) return {};
  progress(dead->name + " does not run, its part of the data is gone: restarting all memory servers, empty");
  for (DaemonState& daemon : memory) {
    const Result<bool> stopped = stop_daemon(data, daemon.name, kStopPatience_s, progress);
    if (!stopped.ok()) return stopped.status();
    daemon.pid = 0;
  }
  return {};
}

// Whether a daemon that was started is ready, by its address or by what it logged from an offset on.
using Ready = bool (*)(const std::string& address, const fs::path& log, std::uintmax_t log_begin);

bool memory_is_ready(const std::string& address, const fs::path& /*log*/, std::uintmax_t /*log_begin*/) {
  return answers(address);
}

// No socket listens there.
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

// The daemons that this call started, stopped again unless it succeeded.
class Started {
 public:
  Started(fs::path data, const Progress& progress) : data_(std::move(data)), progress_(progress) {}
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  ~Started() {
    for (auto entry = processes_.rbegin(); entry != processes_.rend(); ++entry) {
      stop(entry->second, entry->first, kStopPatience_s, progress_);
      std::error_code ignored;
      fs::remove(pid_file(data_, entry->first), ignored);
    }
  }
  // Starts it and waits until `ready`, its end, or the deadline.
  Status start(DaemonState& daemon, const std::vector<std::string>& command, SteadyTime deadline,
               const Ready& ready) {
    const fs::path log = log_file(data_, daemon.name);
    std::error_code ignored;
    const std::uintmax_t log_begin = fs::exists(log, ignored) ? fs::file_size(log, ignored) : 0;
    progress_("starting " + daemon.name + " at " + daemon.address);
    Result<Process> result = start_in_background(command, log);
    if (!result.ok()) return result.status();
    const Process& process = processes_.emplace_back(daemon.name, std::move(result).value()).second;
    if (Status written = write_pid_file(pid_file(data_, daemon.name), process.identity()); !written.ok()) {
      return written;
    }
    while (!ready(daemon.address, log, log_begin)) {
      if (process.wait(static_cast<int>(kPollInterval.count()))) {
        return environment_error(daemon.name + " ended while it started (" + process.end_in_words() +
                                 "):" + log_tail(log, log_begin));
      }
      if (std::chrono::steady_clock::now() > deadline) {
        return environment_error(daemon.name + " was not ready in time:" + log_tail(log, log_begin),
                                 "--timeout, or see " + log.string());
      }
    }
    daemon.pid = process.identity().pid;
    daemon.started = true;
    return {};
  }
  void keep() { processes_.clear(); }

 private:
  fs::path data_;
  const Progress& progress_;
  std::vector<std::pair<std::string, Process>> processes_;
};

}  // namespace

std::string psql_line(std::uint16_t sql_port) {
  return "psql -h 127.0.0.1 -p " + std::to_string(sql_port) + " namdb";
}

Result<DevCluster> dev_state(const fs::path& data) {
  Result<ClusterFile> settings = read_cluster_file(data);
  if (!settings.ok()) return settings.status();
  return state_of(data, *settings);
}

Result<DevCluster> dev_up(const DevOptions& options, const Progress& progress) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + std::chrono::seconds(options.timeout_s);
  if (Status made = make_folders(options.data); !made.ok()) return made;
  Result<std::unique_ptr<FolderLock>> lock = FolderLock::take(options.data, options.timeout_s);
  if (!lock.ok()) return lock.status();
  std::optional<DevCluster> present;
  if (has_cluster_file(options.data)) {
    Result<DevCluster> state = dev_state(options.data);
    if (!state.ok()) return state.status();
    present = *state;
  }
  Result<ClusterFile> settled = settle(options, present);
  if (!settled.ok()) return settled.status();
  ClusterFile settings = *settled;
  if (!present || !any_runs(*present)) {
    Result<std::vector<std::string>> addresses = choose_memory_addresses(options.data, settings, options);
    if (!addresses.ok()) return addresses.status();
    settings.memory_addresses = *addresses;
  }
  DevCluster cluster = state_of(options.data, settings);
  if (Status stopped = stop_incomplete_memory(options.data, cluster, progress); !stopped.ok()) return stopped;
  for (const DaemonState& daemon : cluster.daemons) {
    if (daemon.pid != 0 || daemon.address.starts_with("unix:")) continue;
    const std::string port = daemon.address.substr(daemon.address.rfind(':') + 1);
    const bool was_ours = present && present->settings.sql_port == settings.sql_port;
    if (!becomes_free(static_cast<std::uint16_t>(std::stoul(port)), was_ours)) {
      return environment_error("port " + port + " (for " + daemon.name + ") is in use by another program",
                               "choose another --port");
    }
  }
  if (Status made = make_key(options.data); !made.ok()) return made;
  if (Status written = write_cluster_file(options.data, settings); !written.ok()) return written;
  Result<std::string> memory_program = daemon_program("nam-memoryd");
  if (!memory_program.ok()) return memory_program.status();
  Result<std::string> compute_program = daemon_program("nam-computed");
  if (!compute_program.ok()) return compute_program.status();

  Started started(options.data, progress);
  for (std::uint32_t k = 0; k < cluster.daemons.size(); ++k) {
    DaemonState& daemon = cluster.daemons[k];
    if (daemon.pid != 0) continue;
    const bool is_memory = k < settings.memory_servers;
    const std::vector<std::string> command =
        is_memory ? memory_command(*memory_program, options, settings, k)
                  : compute_command(*compute_program, options, settings, k - settings.memory_servers);
    Status status = started.start(daemon, command, deadline,
                                  !is_memory                   ? &compute_is_ready
                                  : settings.fabric == "verbs" ? &memory_says_ready
                                                               : &memory_is_ready);
    if (!status.ok()) return status;
  }
  started.keep();
  return cluster;
}

Result<std::uint32_t> dev_down(const fs::path& data, std::uint32_t timeout_s, const Progress& progress) {
  if (!has_cluster_file(data)) return std::uint32_t{0};
  Result<std::unique_ptr<FolderLock>> lock = FolderLock::take(data, timeout_s);
  if (!lock.ok()) return lock.status();
  Result<DevCluster> cluster = dev_state(data);
  if (!cluster.ok()) return cluster.status();
  std::uint32_t stopped = 0;
  // Compute servers first: they close their slots in order while the memory servers are there.
  for (auto daemon = cluster->daemons.rbegin(); daemon != cluster->daemons.rend(); ++daemon) {
    const Result<bool> ran = stop_daemon(data, daemon->name, timeout_s, progress);
    if (!ran.ok()) return ran.status();
    if (*ran) ++stopped;
  }
  return stopped;
}

}  // namespace namdb::namctl
