// Buckets of a table's hash index: cluster chaining (DrTM §6.2), self-certifying.
//
// A table has an array of main buckets, split in equal ranges over the memory servers, and indirect buckets
// that hang off them. A bucket is 192 bytes:
//   0    lock word (stamp.h), in main buckets: one lock for the whole chain; serialises insert, reclaim and
//        growth. Lookups take no lock. Not under the checksum.
//   8    generation (high 32 bits), table id (low 32 bits)
//   16   offset of the next bucket of the chain on the same server, 0 = last
//   24   ten entries of two words: key hash (0 = free); incarnation (high 16 bits), record offset (48 bits)
//   184  checksum over 8..184, seeded with the bucket's address
// Only the holder of the chain's lock WRITEs bytes 8..192. A record lies on the server of its bucket.
// An entry is a hint: the record's body has the key and the whole incarnation, and they decide.
//
// A server's array of main buckets grows by doubling. The entries of chain i are copied into chains 2i and 2i
// + 1 of a new array, whose generation is one higher. Then the main bucket i is overwritten with a *forward*
// to the new array, for good. A chain that was forwarded is frozen; all buckets of a chain carry the
// generation of its array.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/layout/global_address.h"

namespace namdb::layout {

inline constexpr std::uint32_t kBucketEntries = 10;
inline constexpr std::uint32_t kBucket_bytes = 192;
inline constexpr std::uint32_t kBucketBody_offset = 8;
inline constexpr std::uint32_t kBucketBody_bytes = kBucket_bytes - kBucketBody_offset;

struct BucketEntry {
  std::uint64_t key_hash = 0;
  std::uint64_t location = 0;

  bool free() const { return key_hash == 0; }
  std::uint64_t offset() const { return location & GlobalAddress::kOffsetMask; }
  std::uint16_t incarnation() const { return static_cast<std::uint16_t>(location >> 48); }
  static BucketEntry make(std::uint64_t key_hash, std::uint64_t offset, std::uint32_t incarnation) {
    return {key_hash, (std::uint64_t{static_cast<std::uint16_t>(incarnation)} << 48) | offset};
  }
  friend bool operator==(const BucketEntry&, const BucketEntry&) = default;
};

struct Bucket {
  static constexpr std::uint64_t kForward = 1;  // in next_offset; bucket offsets are multiples of 8

  std::uint64_t lock_word;
  std::uint32_t table;
  std::uint32_t generation;
  std::uint64_t next_offset;
  std::array<BucketEntry, kBucketEntries> entries;
  std::uint64_t checksum;

  // A forward: no entries, and where a next bucket stands, the base of the array of twice the size.
  bool forwarded() const { return (next_offset & kForward) != 0; }
  std::uint64_t forward_base() const { return next_offset & ~kForward; }
  static Bucket forward(std::uint32_t table, std::uint32_t generation, std::uint64_t base_offset);

  // True if the bytes are one image of the bucket at `address`.
  bool certified(GlobalAddress address) const;
  // Sets the checksum.
  void seal(GlobalAddress address);
};

static_assert(sizeof(Bucket) == kBucket_bytes);
static_assert(offsetof(Bucket, table) == kBucketBody_offset);
static_assert(offsetof(Bucket, next_offset) == 16);
static_assert(offsetof(Bucket, entries) == 24);
static_assert(offsetof(Bucket, checksum) == 184);

// Never 0. Of a row whose whole key decides on its memory server; placement.h has that of all rows.
std::uint64_t hash_key(std::uint32_t table, std::span<const std::byte> key);

// The main bucket, of `bucket_count`, that a hash falls into.
inline std::uint64_t bucket_index(std::uint64_t key_hash, std::uint64_t bucket_count) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(key_hash) * bucket_count) >> 64);
}

// One memory server's share of a table's main buckets. Each server's grows by itself: the hash alone says
// which server a key belongs to.
struct BucketArray {
  std::uint64_t base_offset = 0;
  std::uint64_t bucket_count = 0;
  std::uint32_t generation = 0;

  std::uint64_t bytes() const { return bucket_count * kBucket_bytes; }
  std::uint64_t bucket_offset(std::uint64_t index) const { return base_offset + index * kBucket_bytes; }
  // The main bucket of a key of this server, where `server_count` servers share the table.
  std::uint64_t index_of(std::uint64_t key_hash, std::uint64_t server_count) const {
    return bucket_index(key_hash, server_count * bucket_count) -
           bucket_index(key_hash, server_count) * bucket_count;
  }
  // The array that a forward in this one leads to: chain i went to chains 2i and 2i + 1.
  BucketArray doubled(std::uint64_t new_base_offset) const {
    return {new_base_offset, 2 * bucket_count, generation + 1};
  }
  friend bool operator==(const BucketArray&, const BucketArray&) = default;
};

}  // namespace namdb::layout
