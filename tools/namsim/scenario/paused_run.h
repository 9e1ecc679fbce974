// Compute servers that take no turn for a while, as on a machine that is suspended, and then go on where they
// stopped, in the middle of a commit perhaps. Either for longer than memory servers wait for a heartbeat:
// they are taken for dead, fenced, their commits are decided, and they connect again. Or while another
// compute server drops the tables that they write to and creates others in the memory.
#pragma once

#include <cstdint>
#include <string>

#include "common/layout/vector_parts.h"
#include "tools/namsim/cluster/interposer.h"

namespace namdb::sim {

// The event that paused compute servers meet.
enum class Pauses : std::uint8_t { taken_for_dead, tables_dropped };

struct PausedVerdict {
  std::string anomaly;  // empty: the run was as it must be
  std::uint64_t transactions = 0;
  std::uint64_t committed = 0;
};

// With a partitioned timestamp vector there are two memory servers. Otherwise what a seed draws is the same.
PausedVerdict run_paused(std::uint64_t seed, Pauses pauses, Interposer* interposer = nullptr,
                         layout::VectorSpread timestamp_vector = layout::VectorSpread::whole);

}  // namespace namdb::sim
