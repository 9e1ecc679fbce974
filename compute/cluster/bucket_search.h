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

// Whether an object of that length can lie at that offset; an entry or a bucket of a chain names it.
inline bool place_within(std::uint64_t offset, std::uint64_t length_bytes, std::uint64_t region_bytes) {
  return offset % 8 == 0 && length_bytes <= region_bytes && offset <= region_bytes - length_bytes;
}

// Whether an array that a forward names can be there.
inline bool array_within(const layout::BucketArray& array, std::uint64_t region_bytes) {
  return array.base_offset % 8 == 0 && array.bucket_count <= region_bytes / layout::kBucket_bytes &&
         array.base_offset <= region_bytes - array.bytes();
}

}  // namespace namdb::storage
