// The options of a simulated cluster.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/random.h"
#include "compute/worker/worker_options.h"
#include "memory/log/log.h"
#include "memory/opening/checkpoints.h"
#include "memory/options.h"
#include "tools/namsim/cluster/copy_rules.h"
#include "tools/namsim/cluster/interposer.h"

namespace namdb::sim {

// Of the databases of all runs, and where each is on its server's disk.
inline constexpr std::uint64_t kDatabaseId = 0x6e61'6d64'62ULL;
inline const std::string kDatabaseFolder = "data/memory";
// The latency of a disk operation, in ns: this much, and up to the spread more.
inline constexpr std::uint64_t kDiskLatency_ns = 10'000;
inline constexpr std::uint64_t kDiskLatencySpread_ns = 90'000;

// Of a durable cluster's databases: small, so that segments and generations come and go within a short run.
struct DatabaseOptions {
  DatabaseOptions();
  // `segment_bytes` of 64 KiB to 1 MiB, a bound of 6 to 24 of them, checkpoints each 5 to 500 ms.
  static DatabaseOptions swarm(Random& random);

  memory::LogOptions log;                 // on_failure is set by the cluster
  memory::CheckpointOptions checkpoints;  // likewise
};

struct ClusterOptions {
  std::uint32_t memory_servers = 1;
  std::uint64_t region_bytes = 16U << 20;
  bool growing_regions = false;   // they begin with a few extents and grow to region_bytes
  memory::Options memory;         // server_id and server_count are set by the cluster
  compute::WorkerOptions worker;  // memory_servers and name are set by the cluster
  std::size_t location_cache_bytes = 64U << 10;
  // Memory servers keep a database on their machines' disks, level `flushed`, and open it when they start
  // again.
  bool durable = false;
  DatabaseOptions database;
  // Hosts that each region has beside its primary (copy_hosts.h); in a durable cluster. 0 with `has_store`:
  // there is a configuration store, and one host.
  std::uint32_t copies = 0;
  bool has_store = false;
  CopyRules copy_rules;
  std::string memory_name = "m";     // of the memory servers, which listen on sim:m0 and so on
  Interposer* interposer = nullptr;  // outlives the cluster
  compute::LogLine log = [](const std::string&) {};  // of all compute processes
};

}  // namespace namdb::sim
