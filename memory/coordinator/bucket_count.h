// How many main buckets a table has when it is created. Every table of rows is sized here, once, by the
// catalog.
#pragma once

#include <cstdint>

#include "common/layout/bucket.h"

namespace namdb::memory {

// On each of `server_count` (> 0) memory servers, at least one: so many that three quarters of the entries
// are taken once the table has `size_hint_rows`.
constexpr std::uint64_t initial_buckets(std::uint64_t size_hint_rows, std::uint64_t server_count) {
  constexpr std::uint64_t kRowsPer4Buckets = 3 * layout::kBucketEntries;
  using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{size_hint_rows} * 4 / (Wide{server_count} * kRowsPer4Buckets)) + 1;
}

}  // namespace namdb::memory
