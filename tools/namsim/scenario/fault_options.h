// The options of a cluster that the fault "set" can set, and values of them that swarms draw.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tools/namsim/cluster/cluster.h"

namespace namdb::sim {

bool settable(const std::string& option);
// "a, b, c".
std::string settable_names();
// `option` is settable().
void set_option(ClusterOptions& options, const std::string& option, std::uint64_t value);

struct DrawnOption {
  const char* name;
  std::uint64_t value;
};
inline constexpr std::array kDrawnOptions{
    DrawnOption{"ring_slots", 1},
    DrawnOption{"extent_bytes", 16U << 10},
    DrawnOption{"journal_bytes", 16U << 10},
    DrawnOption{"vector_capacity", 24},
    DrawnOption{"max_transaction_ns", 300 * kMillisecond_ns},
    DrawnOption{"counters_per_slot", 3},
    DrawnOption{"first_counter", 0xfffe'fff8},
    DrawnOption{"first_slot", layout::kMaxSlot - 40},
    DrawnOption{"region_bytes", 2U << 20},
    DrawnOption{"location_cache_bytes", 1U << 10},
    // Pauses and cuts may be longer: then a live compute server is taken for dead.
    DrawnOption{"heartbeat_timeout_ns", 100 * kMillisecond_ns},
};

}  // namespace namdb::sim
