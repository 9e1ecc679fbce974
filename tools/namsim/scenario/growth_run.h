// Tables that outgrow their buckets while transactions run (growing_workload.h): one whole run, decided by a
// seed.
#pragma once

#include <cstdint>
#include <string>

#include "tools/namsim/cluster/cluster.h"

namespace namdb::sim {

enum class GrowthTrouble : std::uint8_t {
  none,
  kills,   // compute servers die on the way
  pauses,  // compute servers take no turn for a while
  drop     // both tables are dropped, mostly in the middle of growth
};

struct GrowthVerdict {
  std::string anomaly;  // empty: the run was as it must be
  std::uint64_t committed = 0;
  std::uint64_t transactions = 0;
  std::uint64_t doublings = 0;    // at the end
  std::uint64_t fingerprint = 0;  // equal for equal runs
};

// Small pieces of memory, and everything that comes now and then comes each millisecond.
ClusterOptions growing_cluster();

// The growth of all tables on all memory servers.
struct SeenGrowth {
  std::uint64_t doublings = 0;
  std::uint64_t other_array_bytes = 0;
};
SeenGrowth look_at_growth(Cluster& cluster);

GrowthVerdict run_growth(std::uint64_t seed, GrowthTrouble trouble, Interposer* interposer = nullptr);

}  // namespace namdb::sim
