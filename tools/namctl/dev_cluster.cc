#include "tools/namctl/dev_cluster.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>

#include "tools/namctl/dev_processes.h"
#include "tools/namctl/dev_settings.h"

namespace namdb::namctl {
namespace {

namespace fs = std::filesystem;

Status make_folders(const fs::path& data) {
  std::error_code error;
  for (const fs::path& folder : {data, data / "run", data / "log"}) {
    const bool made = fs::create_directories(folder, error);
    if (error) return environment_error("cannot create " + folder.string() + ": " + error.message());
    // Only the owner may read their contents (keys, sockets, data). A folder that was there keeps its
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

DevCluster state_of(const fs::path& data, const ClusterFile& settings) {
  DevCluster cluster{settings, {}};
  for (std::uint32_t k = 0; k < settings.hosts(); ++k) {
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

// Stops the memory servers of a cluster that has lost one of them, and with it that one's part of the data.
Status stop_incomplete_memory(const fs::path& data, DevCluster& cluster, const Progress& progress) {
  if (durability_of(cluster.settings) != kDurabilityMemory) return {};
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

// Removes the folders of the daemons of a cluster that does not run, and its options.
Status discard_data(const fs::path& data, const DevCluster& cluster, const Progress& progress) {
  for (const DaemonState& daemon : cluster.daemons) {
    std::error_code error;
    if (!fs::exists(data / daemon.name, error)) continue;
    progress("removing the data of " + daemon.name);
    fs::remove_all(data / daemon.name, error);
    if (error)
      return environment_error("cannot remove " + (data / daemon.name).string() + ": " + error.message());
  }
  std::error_code error;
  fs::remove_all(configuration_folder(data), error);
  if (error)
    return environment_error("cannot remove " + configuration_folder(data).string() + ": " + error.message());
  return remove_cluster_file(data);
}

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
    settings.local_sockets.clear();
    if (settings.local_path) {
      Result<std::vector<std::string>> sockets = choose_sockets(options.data, settings);
      if (!sockets.ok()) return sockets.status();
      settings.local_sockets = *sockets;
    }
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

  Started started(options.data, progress, options.timeout_s);
  // Memory servers that keep data open it together: none is ready before the others run. A host with a
  // region waits for its copies.
  const bool together = settings.hosts() > 1 && durability_of(settings) == kDurabilityFlushed;
  std::vector<DaemonState*> waiting;
  for (std::uint32_t k = 0; k < settings.hosts(); ++k) {
    DaemonState& daemon = cluster.daemons[k];
    if (daemon.pid != 0) continue;
    const std::vector<std::string> command = memory_command(*memory_program, options, settings, k);
    const Ready ready = settings.fabric == "verbs" ? &memory_says_ready : &memory_is_ready;
    Status status = together ? started.launch(daemon, command) : started.start(daemon, command, ready);
    if (!status.ok()) return status;
    if (together) waiting.push_back(&daemon);
  }
  for (DaemonState* const daemon : waiting) {
    if (Status status = started.await(*daemon, &memory_says_ready); !status.ok()) return status;
  }
  for (std::uint32_t k = settings.hosts(); k < cluster.daemons.size(); ++k) {
    DaemonState& daemon = cluster.daemons[k];
    if (daemon.pid != 0) continue;
    Status status =
        started.start(daemon, compute_command(*compute_program, options, settings, k - settings.hosts()),
                      &compute_is_ready);
    if (!status.ok()) return status;
  }
  started.keep();
  return cluster;
}

Result<std::uint32_t> dev_down(const fs::path& data, std::uint32_t timeout_s, bool discard,
                               const Progress& progress) {
  if (!has_cluster_file(data)) return std::uint32_t{0};
  Result<std::unique_ptr<FolderLock>> lock = FolderLock::take(data, timeout_s);
  if (!lock.ok()) return lock.status();
  Result<DevCluster> cluster = dev_state(data);
  if (!cluster.ok()) return cluster.status();
  std::uint32_t stopped = 0;
  // Compute servers first: they close their slots in order while the memory servers are there. Of these all
  // at once where copies would take over from one that ends before them.
  bool asked = cluster->settings.copies == 1;
  for (auto daemon = cluster->daemons.rbegin(); daemon != cluster->daemons.rend(); ++daemon) {
    if (!asked && daemon->name.starts_with("memory-")) {
      asked = true;
      for (std::uint32_t k = 0; k < cluster->settings.hosts(); ++k) {
        if (const auto process = running(data, memory_name(k))) process->signal(SIGTERM);
      }
    }
    const Result<bool> ran = stop_daemon(data, daemon->name, timeout_s, progress);
    if (!ran.ok()) return ran.status();
    if (*ran) ++stopped;
  }
  if (discard) {
    if (Status discarded = discard_data(data, *cluster, progress); !discarded.ok()) return discarded;
  }
  return stopped;
}

}  // namespace namdb::namctl
