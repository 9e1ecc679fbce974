// Where records lie: key hash -> record offset and incarnation (DrTM §6.3), shared by all workers of a
// compute server. Only a hint: a reader checks key and incarnation in the record's certified body and treats
// a mismatch as a miss. The memory server follows from the hash and the table.
//
// A key takes one word, so that no location is ever torn. The word has 16 bits of the key's hash, the low 8
// bits of the incarnation, and the offset. Another key of the same set has the same 16 bits in one case of
// 65,536. A set is a cache line of eight words in two halves. A key that is looked up for the first time
// takes a place in the second half; a key that is found there changes places with one in the first half. So
// keys that come once do not push out keys that come again. Lock-free: threads that change a set at the same
// time may lose a key, and never mix two. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/layout/bucket.h"

namespace namdb::storage {

struct CachedLocation {
  std::uint64_t offset = 0;
  std::uint8_t incarnation = 0;  // its low bits
  friend bool operator==(const CachedLocation&, const CachedLocation&) = default;
};

class LocationCache {
 public:
  // Uses at most `capacity_bytes`, 8 a key; 0 turns the cache off.
  explicit LocationCache(std::size_t capacity_bytes);
  LocationCache(const LocationCache&) = delete;
  LocationCache& operator=(const LocationCache&) = delete;
  ~LocationCache();

  // Asks the processor for the entry, so that a find() some instructions later does not wait for memory.
  void prefetch(std::uint64_t key_hash) const {
    if (set_count_ != 0) __builtin_prefetch(place_of(key_hash).set);
  }

  std::optional<CachedLocation> find(std::uint64_t key_hash);
  // Of a key that was looked up. An offset that does not fit (8 TiB and beyond) is not remembered.
  void insert(const layout::BucketEntry& entry);
  // Offers the location of a key that was read with another one: takes only a free place.
  void offer(const layout::BucketEntry& entry);
  // Whether the key's set has a free place. Keys are spread evenly over the sets: where the set of one, which
  // a lookup has in the processor's caches, is full, so are most others.
  bool has_room(std::uint64_t key_hash) const;
  void erase(std::uint64_t key_hash);
  // Forgets everything: a memory server restarted.
  void clear();

 private:
  static constexpr std::size_t kWays = 8;  // one cache line
  static constexpr std::size_t kHalf = kWays / 2;
  struct alignas(64) Set {
    std::array<std::atomic<std::uint64_t>, kWays> words;  // tag, incarnation, offset / 8; 0 = free
  };
  static_assert(sizeof(Set) == 64);
  struct Place {
    Set* set;           // of no meaning when the cache is off
    std::uint64_t tag;  // in its place in the word
  };
  static constexpr unsigned kTagShift = 48;
  static constexpr unsigned kIncarnationShift = 40;
  static constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kIncarnationShift) - 1;

  Place place_of(std::uint64_t key_hash) const {
    // The bucket index uses the hash's high bits; mixing keeps keys of one bucket apart. The product's high
    // bits choose the set, low ones are the tag.
    const std::uint64_t mixed = key_hash * 0x9e3779b97f4a7c15ULL;
    return {sets_ + static_cast<std::size_t>((static_cast<unsigned __int128>(mixed) * set_count_) >> 64),
            mixed << (kTagShift - 4) >> kTagShift << kTagShift};
  }
  void put(const layout::BucketEntry& entry, bool replace);

  Set* sets_ = nullptr;
  std::size_t set_count_ = 0;
};

}  // namespace namdb::storage
