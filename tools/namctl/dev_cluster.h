// A cluster of daemons on this machine, started and stopped in the background: `namctl dev up` and `dev
// down`.
//
// Guarantees: up returns when every compute server accepts clients, or fails with the reason and leaves
// nothing running that it started; it starts only what is not running, so that calling it twice does nothing,
// and calling it after a daemon died starts that one again. But of several memory servers all are restarted
// together when one died: they are empty then, for none has a use without the others' data. Only processes
// that an up of the same folder started are ever signalled. Two calls on one folder wait for each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "tools/namctl/cluster_file.h"

namespace namdb::namctl {

struct DevOptions {
  std::filesystem::path data;
  // An option that is not given, or empty, has the running cluster's value, or else the default. Daemons that
  // run keep the options that they were started with.
  std::optional<std::string> fabric;             // shm
  std::optional<std::uint32_t> memory_servers;   // 1
  std::optional<std::uint32_t> compute_servers;  // 1
  std::optional<std::uint16_t> sql_port;         // 5433
  std::optional<std::string> protocol;           // nam-memoryd's default, or what memory_flags say
  std::optional<std::string> stages;             // likewise
  std::uint16_t fabric_port = 0;                 // tcp, verbs: 0 takes the first free ones from 7400 on
  std::string fabric_host = "127.0.0.1";         // tcp, verbs: where memory servers listen
  std::vector<std::string> procedure_libraries;  // none: the workloads' beside this program, if it is there
  std::vector<std::string> memory_flags;         // given to every nam-memoryd as they are
  std::vector<std::string> compute_flags;        // given to every nam-computed
  std::string region_bytes;                      // of each memory server; empty: a share of this machine
  std::string region_limit;                      // empty: regions do not grow
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
  std::vector<DaemonState> daemons;  // memory servers first
};

// Told what goes on, a line each.
using Progress = std::function<void(std::string_view)>;

Result<DevCluster> dev_up(const DevOptions& options, const Progress& progress);
// How many daemons were stopped. One that does not end within the time is killed.
Result<std::uint32_t> dev_down(const std::filesystem::path& data, std::uint32_t timeout_s,
                               const Progress& progress);
// Which daemons run; an error when no cluster was ever started there.
Result<DevCluster> dev_state(const std::filesystem::path& data);

// "psql ..." as a person would type it.
std::string psql_line(std::uint16_t sql_port);

}  // namespace namdb::namctl
