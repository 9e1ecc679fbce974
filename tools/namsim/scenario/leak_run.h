// Rows are inserted, changed and deleted, tables and indexes created, filled and dropped, while compute
// servers are killed and others take their place. Now and then everything is deleted: the memory servers must
// then come to rest with nothing in use but what an empty cluster uses, by their own accounts
// (memory/state/accounting.h).
#pragma once

#include <cstdint>
#include <string>

#include "tools/namsim/cluster/interposer.h"

namespace namdb::sim {

struct LeakVerdict {
  std::string anomaly;  // empty: the run was as it must be
  std::uint64_t committed = 0;
  std::uint64_t kills = 0;
  std::uint64_t virtual_ns = 0;
};

// Everything is deleted at the end of each of the rounds.
LeakVerdict run_leak(std::uint64_t seed, std::uint64_t rounds, Interposer* interposer = nullptr);

}  // namespace namdb::sim
