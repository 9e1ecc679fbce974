// Pure functions over fetched buckets (common/layout/bucket.h): no I/O, outside input is never trusted.
#pragma once

#include <cstdint>
#include <optional>

#include "common/layout/bucket.h"

namespace namdb::storage {

// The first entry at or after `from` whose hash fits; kBucketEntries if there is none.
inline std::uint32_t find_entry(const layout::Bucket& bucket, std::uint64_t key_hash,
                                std::uint32_t from = 0) {
  for (std::uint32_t i = from; i < layout::kBucketEntries; ++i) {
    if (bucket.entries[i].key_hash == key_hash) return i;
  }
  return layout::kBucketEntries;
}

inline std::optional<std::uint32_t> free_entry(const layout::Bucket& bucket) {
  for (std::uint32_t i = 0; i < layout::kBucketEntries; ++i) {
    if (bucket.entries[i].free()) return i;
  }
  return std::nullopt;
}

}  // namespace namdb::storage
