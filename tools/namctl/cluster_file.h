// The description of a cluster that `namctl dev up` writes into DIR/cluster.json, so that the other commands
// find the cluster by its data folder alone. Only dev up writes it, as a whole or not at all.
//
//   DIR/cluster.json            this
//   DIR/cluster.key             32 random bytes, mode 0600: a daemon that has them may join the cluster
//   DIR/run/NAME.pid            process.h; NAME is memory-K or compute-K
//   DIR/run/lock                held by the command that starts or stops the cluster
//   DIR/run/memory-K.sock       the shared-memory transport's sockets
//   DIR/configuration/          with copies: the configuration store (common/placement/store)
//   DIR/log/NAME.log            the daemon's output
//   DIR/NAME/                   the daemon's own data folder; the database is in memory-K/data
//                               (memory/process/database_folder.h)
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace namdb::namctl {

struct ClusterFile {
  std::string fabric;  // shm, tcp or verbs
  std::uint32_t memory_servers = 1;
  std::uint32_t compute_servers = 1;
  // Hosts of each region. The first host of memory server K is memory-K; the others, which are copies at
  // first, follow behind all of these.
  std::uint32_t copies = 1;
  std::uint16_t sql_port = 5433;              // of compute server 0; the others follow
  std::vector<std::string> memory_addresses;  // unix:PATH or HOST:PORT, of each host
  std::string protocol;                       // empty: dev up was not told
  std::string stages;                         // likewise
  std::string durability;                     // likewise; durability_of() is the level
  std::string fabric_encryption;              // likewise
  std::string region_bytes;                   // likewise
  std::string region_limit;                   // likewise
  bool local_path = false;                    // compute servers map the region that they stand beside
  std::vector<std::string> local_sockets;     // with local_path: unix:PATH, of each host
  // Further arguments of the daemons that are started.
  std::vector<std::string> procedure_libraries;
  std::vector<std::string> memory_flags;
  std::vector<std::string> compute_flags;

  std::uint32_t hosts() const { return memory_servers * copies; }
  bool operator==(const ClusterFile&) const = default;
};

inline constexpr std::string_view kDurabilityMemory = "memory";
inline constexpr std::string_view kDurabilityFlushed = "flushed";
// The level of the cluster: it keeps its data unless it was told otherwise.
inline std::string_view durability_of(const ClusterFile& cluster) {
  return cluster.durability.empty() ? kDurabilityFlushed : std::string_view(cluster.durability);
}

inline std::string memory_name(std::uint32_t server) {
  return "memory-" + std::to_string(server);
}
inline std::string compute_name(std::uint32_t server) {
  return "compute-" + std::to_string(server);
}
inline std::filesystem::path pid_file(const std::filesystem::path& data, const std::string& name) {
  return data / "run" / (name + ".pid");
}
inline std::filesystem::path log_file(const std::filesystem::path& data, const std::string& name) {
  return data / "log" / (name + ".log");
}
inline std::filesystem::path configuration_folder(const std::filesystem::path& data) {
  return data / "configuration";
}
inline std::filesystem::path key_file(const std::filesystem::path& data) {
  return data / "cluster.key";
}

// Errors, all configuration: no cluster has been started on that folder, or the file is damaged.
Result<ClusterFile> read_cluster_file(const std::filesystem::path& data);
Status write_cluster_file(const std::filesystem::path& data, const ClusterFile& cluster);
bool has_cluster_file(const std::filesystem::path& data);
Status remove_cluster_file(const std::filesystem::path& data);

}  // namespace namdb::namctl
