// How many main buckets a table has when it is created. Every table of rows and every hash index is sized
// here, once, by the catalog.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "common/layout/bucket.h"

namespace namdb::memory {

// On each of `server_count` (> 0) memory servers, at least one: so many that three quarters of the entries
// are taken once the table has `size_hint_rows`.
constexpr std::uint64_t initial_buckets(std::uint64_t size_hint_rows, std::uint64_t server_count) {
  constexpr std::uint64_t kRowsPer4Buckets = 3 * layout::kBucketEntries;
  using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{size_hint_rows} * 4 / (Wide{server_count} * kRowsPer4Buckets)) + 1;
}

// Of a hash index, on each memory server: as many as its table has by now on the one where it has grown most.
// `doublings` has one number a memory server, or none.
constexpr std::uint64_t buckets_by_now(std::uint64_t buckets_per_server,
                                       std::span<const std::uint32_t> doublings) {
  std::uint32_t most = 0;
  for (const std::uint32_t each : doublings) most = std::max(most, each);
  return buckets_per_server << most;
}

}  // namespace namdb::memory
