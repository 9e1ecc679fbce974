// An account of every byte of the region: the MEMORY call, `namctl memory`, and the region checker.
//
// The parts add up to the region's length at any moment, also between two steps of a task that yields: before
// a task that takes extents suspends, it enters them in a list that is counted here.
#pragma once

#include <cstdint>

#include "memory/state/server_state.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// The region's bytes by their use; they add up to Region::bytes().
struct RegionUse {
  std::uint64_t fixed_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t journal_bytes = 0;
  std::uint64_t table_bytes = 0;  // buckets and records, with blocks' unused rests
  std::uint64_t overflow_bytes = 0;
  std::uint64_t index_bytes = 0;  // of pages, with blocks' unused rests
};
RegionUse region_use(const ServerState& server);

// The same in detail.
control::MemoryReply account(const ServerState& server);

}  // namespace namdb::memory
