// Where records lie: key hash -> record offset and incarnation (DrTM §6.3), shared by all workers of a
// compute server. Only a hint: whoever uses a location checks key and incarnation in the record's certified
// body and treats a mismatch as a miss. The memory server follows from the hash and the table.
//
// Lock-free: an entry is two relaxed words, hash ^ location and location, so that a torn pair never matches.
// A full set evicts by the hash's low bits. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/layout/bucket.h"

namespace namdb::storage {

class LocationCache {
 public:
  // Uses at most `capacity_bytes`, 16 a key; 0 turns the cache off.
  explicit LocationCache(std::size_t capacity_bytes);
  LocationCache(const LocationCache&) = delete;
  LocationCache& operator=(const LocationCache&) = delete;
  ~LocationCache();

  // Asks the processor for the entry, so that a find() some instructions later does not wait for memory.
  void prefetch(std::uint64_t key_hash) const {
    if (set_count_ != 0) __builtin_prefetch(set_of(key_hash));
  }

  // The entry's location word (BucketEntry::location), if the hash is cached.
  std::optional<std::uint64_t> find(std::uint64_t key_hash) const;
  void insert(std::uint64_t key_hash, std::uint64_t location);
  void erase(std::uint64_t key_hash);
  // Forgets everything: a memory server restarted.
  void clear();

 private:
  static constexpr std::size_t kWays = 4;  // one cache line
  struct alignas(64) Set {
    std::array<std::atomic<std::uint64_t>, kWays> tags;
    std::array<std::atomic<std::uint64_t>, kWays> locations;
  };
  static_assert(sizeof(Set) == 64);
  // Null when the cache is off.
  Set* set_of(std::uint64_t key_hash) const {
    // The bucket index uses the hash's high bits; mixing keeps keys of one bucket apart.
    const std::uint64_t mixed = key_hash * 0x9e3779b97f4a7c15ULL;
    return sets_ + static_cast<std::size_t>((static_cast<unsigned __int128>(mixed) * set_count_) >> 64);
  }
  Set* sets_ = nullptr;
  std::size_t set_count_ = 0;
};

}  // namespace namdb::storage
