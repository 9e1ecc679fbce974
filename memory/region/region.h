// The region's frame: region map, timestamp vector (whole, a part, or none of it), and extents.
//
//   0                     RegionMap, written once here
//   4096                  timestamp vector, on the servers that have a part of it
//   first_extent_offset   extents, aligned to their own size; the rest at the end is not used
//
// A region may grow up to a limit, when an allocation finds too few free extents: a sixteenth of its length
// or kGrowthStep_bytes at a time, or what the allocation needs if that is more. It never shrinks.
//
// All words that others may touch are read and written with 8-byte atomics (region_words.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/layout/region_map.h"
#include "common/layout/stamp.h"
#include "memory/options.h"
#include "memory/region/buddy_allocator.h"
#include "memory/region/changed_extents.h"
#include "memory/region/extent_allocator.h"
#include "memory/region/grant_numbers.h"

namespace namdb::memory {

class Region {
 public:
  static constexpr std::uint64_t kGrowthStep_bytes = 16U << 20;
  // Makes the region at least so long, at most limit_bytes(), and returns its length then. The new bytes
  // follow the others and are zero, and a peer that gets an address there can use it.
  using Lengthen = std::function<Result<std::uint64_t>(std::uint64_t length_bytes)>;

  // `bytes` are zero and stay valid; with a limit that is larger they are the start of so many. Error
  // configuration when they are too few or an option cannot be.
  static Result<std::unique_ptr<Region>> create(std::span<std::byte> bytes, const Options& options,
                                                std::uint64_t epoch, std::uint64_t limit_bytes = 0);

  const layout::RegionMap& map() const { return map_; }
  std::uint64_t bytes() const { return length_bytes_; }
  std::uint64_t limit_bytes() const { return map_.limit_bytes; }
  // bytes() at the beginning.
  std::uint64_t first_bytes() const { return first_bytes_; }
  // From now on it grows. Not called while an allocation runs.
  void set_lengthen(Lengthen lengthen);
  // Bytes that are free, and those by which it may still grow.
  std::uint64_t obtainable_bytes() const;
  // All memory is taken through the blocks.
  BuddyAllocator& blocks() { return blocks_; }
  const BuddyAllocator& blocks() const { return blocks_; }
  ExtentAllocator& extents() { return extents_; }
  const ExtentAllocator& extents() const { return extents_; }
  // The grant numbers of record space.
  GrantNumbers& grants() { return grants_; }
  const GrantNumbers& grants() const { return grants_; }
  ChangedExtents& changed() { return changed_; }
  // Map, vector, and what is left at the end: never given out.
  std::uint64_t fixed_bytes() const { return bytes() - extents_.count() * extents_.extent_bytes(); }

  std::byte* at(std::uint64_t offset) const { return base_ + offset; }
  layout::GlobalAddress address(std::uint64_t offset) const {
    return {static_cast<layout::ServerId>(map_.server_id), offset};
  }
  std::uint64_t load(std::uint64_t offset) const;
  void store(std::uint64_t offset, std::uint64_t word) const;
  // True if the word was `expected`. Only for words that are this server's to write.
  bool compare_exchange(std::uint64_t offset, std::uint64_t expected, std::uint64_t desired) const;
  void read(std::uint64_t offset, std::span<std::byte> destination) const;
  void write(std::uint64_t offset, std::span<const std::byte> source) const;
  void zero(std::uint64_t offset, std::uint64_t length_bytes) const;

  // The part of the timestamp vector that is here; an index counts its words.
  std::uint64_t catalog_version_offset() const;  // server 0
  std::uint64_t vector_length() const;
  layout::HeaderWord vector_word(std::uint64_t index) const;
  // Raises the length when the word lies behind it.
  void set_vector_word(std::uint64_t index, layout::Stamp stamp) const;
  // Lowers the length to that. The words behind it were those of retired slots, whose versions all are
  // visible: a copy may have them or not.
  void shorten_vector(std::uint64_t length) const;

 private:
  Region(std::span<std::byte> bytes, const layout::RegionMap& map, std::uint64_t extents);
  // The source of the extents.
  bool grow(std::uint64_t extents);

  std::byte* base_;
  std::uint64_t length_bytes_;
  std::uint64_t first_bytes_;
  layout::RegionMap map_;
  Lengthen lengthen_;
  ExtentAllocator extents_;
  BuddyAllocator blocks_;
  GrantNumbers grants_;
  ChangedExtents changed_;
};

}  // namespace namdb::memory
