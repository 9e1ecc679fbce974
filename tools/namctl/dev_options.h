// The options of `namctl dev up`, and what it and its parts say about a cluster.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/namctl/cluster_file.h"

namespace namdb::namctl {

struct DevOptions {
  std::filesystem::path data;
  // An option that is not given, or empty, has the value of the folder's cluster, or else the default.
  // Daemons that run keep the options that they were started with.
  std::optional<std::string> fabric;             // shm
  std::optional<std::uint32_t> memory_servers;   // 1
  std::optional<std::uint32_t> copies;           // 1
  std::optional<std::uint32_t> compute_servers;  // 1
  std::optional<std::uint16_t> sql_port;         // 5433
  std::optional<std::string> protocol;           // nam-memoryd's default, or what memory_flags say
  std::optional<std::string> stages;             // likewise
  std::optional<std::string> durability;         // flushed with one memory server, else memory
  std::optional<std::string> fabric_encryption;  // tcp: nam-memoryd's default, which is off on one machine
  std::optional<bool> local_path;                // tcp, verbs: off
  std::uint16_t fabric_port = 0;                 // tcp, verbs: 0 takes the first free ones from 7400 on
  std::string fabric_host = "127.0.0.1";         // tcp, verbs: where memory servers listen
  // None: the workloads' library beside this program, if it is there.
  std::vector<std::string> procedure_libraries;
  std::vector<std::string> memory_flags;   // given to every nam-memoryd as they are
  std::vector<std::string> compute_flags;  // given to every nam-computed
  std::string region_bytes;                // of each memory server; empty: a share of this machine
  std::string region_limit;                // empty: regions do not grow
  // For each daemon to be ready; a memory server that says how far it has come gets more.
  std::uint32_t timeout_s = 60;
};

struct DaemonState {
  std::string name;      // memory-0, compute-1
  std::string address;   // of its fabric, or where it speaks SQL
  int pid = 0;           // 0: not running
  bool started = false;  // by this call
};

struct DevCluster {
  ClusterFile settings;
  std::vector<DaemonState> daemons;  // hosts of memory servers first
};

// Told what goes on, a line each.
using Progress = std::function<void(std::string_view)>;

}  // namespace namdb::namctl
