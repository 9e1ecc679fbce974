// The first page of a memory server's region, which a compute server reads first. Written once by the memory
// server before it accepts its first peer. Behind it: timestamp_floors.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace namdb::layout {

inline constexpr std::uint64_t kRegionMagic = 0x4745524244'4d414eULL;  // "NAMDBREG"-like, little-endian
inline constexpr std::uint32_t kRegionFormatVersion = 2;
inline constexpr std::uint64_t kRegionMap_bytes = 4096;

struct RegionMap {
  std::uint64_t magic;
  std::uint32_t format_version;
  std::uint32_t server_id;
  std::uint64_t epoch;        // random, never 0; another one means that the server restarted empty
  std::uint64_t limit_bytes;  // no address is ever beyond; the region may be shorter and grow
  std::uint64_t extent_bytes;
  std::uint64_t vector_offset;    // timestamp_vector.h; 0 on servers without a part of it
  std::uint64_t vector_capacity;  // words
  std::uint64_t first_extent_offset;
  std::uint64_t checksum;

  bool certified() const;
  void seal();
};

static_assert(sizeof(RegionMap) == 72);
static_assert(offsetof(RegionMap, epoch) == 16);
static_assert(offsetof(RegionMap, checksum) == 64);

}  // namespace namdb::layout
