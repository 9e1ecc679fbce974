#include "tools/namctl/dev_settings.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "memory/log/folder_identity.h"
#include "tools/namctl/address.h"
#include "tools/namctl/dev_processes.h"

namespace namdb::namctl {
namespace {

namespace fs = std::filesystem;

constexpr std::uint16_t kFirstFabricPort = 7400;
constexpr std::uint16_t kDefaultSqlPort = 5433;
constexpr std::uint64_t kLargestDefaultRegion_bytes = 4ULL << 30;

fs::path program_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path("/usr/bin") : self.parent_path();
}

// nam-memoryd's own default, shared by all hosts of this machine.
std::uint64_t default_region_bytes(std::uint32_t hosts) {
  const std::uint64_t memory_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                     static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t share = std::min(memory_bytes / 4, kLargestDefaultRegion_bytes) / hosts;
  return share >> 21 << 21;
}

// The settings of the folder's cluster in words.
std::string in_words(const ClusterFile& before) {
  return before.fabric + ", port " + std::to_string(before.sql_port) + ", " +
         std::to_string(before.memory_servers) + " memory and " + std::to_string(before.compute_servers) +
         " compute servers, durability " + std::string(durability_of(before)) +
         (before.copies == 1 ? "" : ", " + std::to_string(before.copies) + " copies") +
         (before.local_path ? ", local path" : "") +
         (before.fabric_encryption.empty() ? "" : ", fabric encryption " + before.fabric_encryption) +
         (before.protocol.empty() ? "" : ", protocol " + before.protocol) +
         (before.stages.empty() ? "" : ", stages " + before.stages) +
         (before.region_bytes.empty() ? "" : ", regions of " + before.region_bytes) +
         (before.region_limit.empty() ? "" : " up to " + before.region_limit);
}

void add_encryption(const ClusterFile& settings, std::vector<std::string>& command) {
  if (settings.fabric_encryption.empty()) return;
  command.insert(command.end(), {"--fabric-encryption", settings.fabric_encryption});
}

// The data that is in the folder goes with the settings.
Status check_data(const fs::path& data, const ClusterFile& before, const ClusterFile& settings) {
  if (!has_data(data, before)) return {};
  const std::string hint = "namctl dev down --discard --data " + data.string() + " removes the data";
  if (settings.memory_servers != before.memory_servers)
    return environment_error(data.string() + " has the data of " + std::to_string(before.memory_servers) +
                                 (before.memory_servers == 1 ? " memory server" : " memory servers"),
                             hint);
  if (settings.copies < before.copies)
    return environment_error(data.string() + " has " + std::to_string(before.copies) +
                                 " copies of its data, and the newest may be at any of its hosts",
                             hint);
  // The configuration store has them.
  if (before.copies > 1 && settings.fabric != before.fabric)
    return environment_error(
        data.string() + " has copies, whose addresses are those of fabric " + before.fabric, hint);
  if (durability_of(settings) == kDurabilityMemory)
    return environment_error(
        data.string() + " has data on disk, which a cluster with durability memory would not have", hint);
  return {};
}

}  // namespace

std::string sql_address(const ClusterFile& cluster, std::uint32_t server) {
  return "127.0.0.1:" + std::to_string(cluster.sql_port + server);
}

Result<std::string> daemon_program(const char* name) {
  const fs::path path = program_folder() / name;
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path.string();
  return environment_error(path.string() + " is missing", "build it: ninja -C build/release");
}

bool any_runs(const DevCluster& cluster) {
  return std::any_of(cluster.daemons.begin(), cluster.daemons.end(),
                     [](const DaemonState& daemon) { return daemon.pid != 0; });
}

bool has_data(const fs::path& data, const ClusterFile& settings) {
  std::error_code ignored;
  for (std::uint32_t k = 0; k < settings.hosts(); ++k) {
    if (fs::exists(data / memory_name(k) / "data" / memory::kIdentityName, ignored)) return true;
  }
  return false;
}

Result<ClusterFile> settle(const DevOptions& options, const std::optional<DevCluster>& present) {
  const bool runs = present && any_runs(*present);
  ClusterFile settings;
  settings.fabric = "shm";
  settings.sql_port = kDefaultSqlPort;
  if (present) settings = present->settings;
  const ClusterFile before = settings;
  settings.fabric = options.fabric.value_or(settings.fabric);
  settings.memory_servers = options.memory_servers.value_or(settings.memory_servers);
  settings.copies = options.copies.value_or(settings.copies);
  settings.compute_servers = options.compute_servers.value_or(settings.compute_servers);
  settings.sql_port = options.sql_port.value_or(settings.sql_port);
  settings.protocol = options.protocol.value_or(settings.protocol);
  settings.stages = options.stages.value_or(settings.stages);
  settings.durability = options.durability.value_or(settings.durability);
  settings.local_path = options.local_path.value_or(settings.local_path);
  settings.fabric_encryption = options.fabric_encryption.value_or(settings.fabric_encryption);
  if (settings.copies > 1 && durability_of(settings) == kDurabilityMemory)
    return Status(ErrorCode::configuration, "--copies is for --durability flushed",
                  "at level memory there is nothing that another host could go on with");
  if (settings.local_path && settings.fabric == "shm") {
    if (options.local_path.value_or(false))
      return Status(ErrorCode::configuration, "--local-path is for --fabric tcp and verbs",
                    "over shm compute servers map all regions");
    settings.local_path = false;
  }
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
  if (!runs) {
    if (Status fits = check_data(options.data, before, settings); !fits.ok()) return fits;
    return settings;
  }
  if (same) return settings;
  return environment_error(
      "a cluster with other options runs on " + options.data.string() + " (" + in_words(before) + ")",
      "namctl dev down --data " + options.data.string());
}

Result<std::vector<std::string>> choose_sockets(const fs::path& data, const ClusterFile& settings) {
  std::vector<std::string> addresses;
  for (std::uint32_t k = 0; k < settings.hosts(); ++k) {
    Result<fs::path> path = socket_path(data, memory_name(k) + ".sock");
    if (!path.ok()) return path.status();
    addresses.push_back("unix:" + path->string());
  }
  return addresses;
}

Result<std::vector<std::string>> choose_memory_addresses(const fs::path& data, const ClusterFile& settings,
                                                         const DevOptions& options) {
  if (settings.fabric == "shm") return choose_sockets(data, settings);
  const std::uint16_t fabric_port = options.fabric_port;
  std::vector<std::string> addresses;
  // The configuration store has those of hosts that are there already.
  std::error_code ignored;
  if (fs::exists(configuration_folder(data), ignored)) addresses = settings.memory_addresses;
  std::uint32_t port = fabric_port != 0 ? fabric_port : kFirstFabricPort;
  while (addresses.size() < settings.hosts()) {
    if (port > 65'535) return environment_error("no free port for the memory servers");
    std::string address = options.fabric_host + ":" + std::to_string(port);
    // One that was killed just now may still have it.
    const bool was_ours =
        std::ranges::find(settings.memory_addresses, address) != settings.memory_addresses.end();
    if (std::ranges::find(addresses, address) != addresses.end()) {
      ++port;
      continue;
    }
    if (becomes_free(static_cast<std::uint16_t>(port), was_ours)) {
      addresses.push_back(std::move(address));
    } else if (fabric_port != 0) {
      return environment_error("port " + std::to_string(port) + " is in use", "choose another --fabric-port");
    }
    ++port;
  }
  return addresses;
}

std::vector<std::string> memory_command(const std::string& program, const DevOptions& options,
                                        const ClusterFile& settings, std::uint32_t host) {
  std::vector<std::string> command = {program,
                                      "--data",
                                      (options.data / memory_name(host)).string(),
                                      "--fabric",
                                      settings.fabric,
                                      "--listen",
                                      settings.memory_addresses[host],
                                      "--server-id",
                                      std::to_string(host % settings.memory_servers),
                                      "--server-count",
                                      std::to_string(settings.memory_servers),
                                      "--cluster-key",
                                      key_file(options.data).string(),
                                      "--region-bytes",
                                      !settings.region_bytes.empty()
                                          ? settings.region_bytes
                                          : std::to_string(default_region_bytes(settings.hosts()))};
  command.insert(command.end(), {"--durability", std::string(durability_of(settings))});
  if (settings.memory_servers > 1 && durability_of(settings) == kDurabilityFlushed) {
    for (std::uint32_t k = 0; k < settings.memory_servers; ++k)
      command.insert(command.end(), {"--memory-server", settings.memory_addresses[k]});
  }
  if (settings.copies > 1) {
    command.insert(command.end(),
                   {"--configuration-store", "file:" + configuration_folder(options.data).string(),
                    "--copies", std::to_string(settings.copies)});
    if (host >= settings.memory_servers) command.emplace_back("--join");
  }
  if (settings.local_path) command.insert(command.end(), {"--listen-local", settings.local_sockets[host]});
  add_encryption(settings, command);
  if (!settings.protocol.empty()) command.insert(command.end(), {"--protocol", settings.protocol});
  if (!settings.stages.empty()) command.insert(command.end(), {"--stages", settings.stages});
  if (!settings.region_limit.empty())
    command.insert(command.end(), {"--region-limit", settings.region_limit});
  command.insert(command.end(), settings.memory_flags.begin(), settings.memory_flags.end());
  return command;
}

fs::path workloads_library() {
  return program_folder().parent_path() / "lib" / "libnamdb_workloads.so";
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
  const std::uint32_t servers = settings.memory_servers;
  for (std::uint32_t k = 0; k < servers; ++k)
    command.insert(command.end(), {"--memory-server", settings.memory_addresses[k]});
  add_encryption(settings, command);
  // Where the path is too long for a socket there is none: loopback is always there.
  const fs::path sockets = options.data / "run";
  if (sockets.native().size() + std::string_view("/.s.PGSQL.65535").size() < 108) {
    command.insert(command.end(), {"--unix-socket-dir", sockets.string()});
  }
  std::vector<std::string> libraries = settings.procedure_libraries;
  const fs::path workloads = workloads_library();
  std::error_code ignored;
  if (libraries.empty() && fs::exists(workloads, ignored)) libraries.push_back(workloads.string());
  for (const std::string& library : libraries) {
    command.insert(command.end(), {"--procedure-library", library});
  }
  // Pairs, as on a rack where each machine runs one of both.
  if (servers > 1 || settings.local_path)
    command.insert(command.end(), {"--beside", std::to_string(server % servers)});
  if (settings.local_path)
    command.insert(command.end(), {"--beside-socket", settings.local_sockets[server % servers]});
  command.insert(command.end(), settings.compute_flags.begin(), settings.compute_flags.end());
  return command;
}

}  // namespace namdb::namctl
