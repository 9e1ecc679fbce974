// A buddy allocator for the region. Blocks below an extent are powers of two from 4 KiB, made by halving an
// extent; larger requests get whole extents. So a table that begins small takes little, and things of
// different sizes share an extent.
//
// A block for records may share an extent with others: only whole extents are told apart by their use.
//
// Two free halves are joined, and an extent whose blocks are all free goes back to the extents. The list of
// blocks is the server's private memory, never in the region.
#pragma once

#include <absl/container/btree_map.h>
#include <cstdint>
#include <optional>
#include <vector>

#include "memory/region/extent_allocator.h"

namespace namdb::memory {

struct Block {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool dirty = false;  // some of the bytes may be not zero
};

class BuddyAllocator {
 public:
  static constexpr std::uint64_t kSmallest_bytes = 4096;

  // `extents` outlives this.
  explicit BuddyAllocator(ExtentAllocator& extents);
  BuddyAllocator(const BuddyAllocator&) = delete;
  BuddyAllocator& operator=(const BuddyAllocator&) = delete;

  // How long the block for so many bytes is.
  std::uint64_t block_bytes(std::uint64_t bytes) const;
  // nullopt when there is none; with `keep_reserve` also when less than ExtentAllocator::reserve() would be
  // left to other uses.
  std::optional<Block> allocate(std::uint64_t bytes, bool keep_reserve = false,
                                ExtentUse use = ExtentUse::other);
  // Takes that block, also from the reserve. nullopt: no such block is free, or the block is impossible.
  std::optional<Block> claim(std::uint64_t offset, std::uint64_t bytes);
  // A whole block; it counts as dirty.
  void free(std::uint64_t offset, std::uint64_t bytes);

  // In extents and in blocks.
  std::uint64_t free_bytes() const { return extents_.free_bytes() + free_in_blocks_; }
  // True if the byte there is handed out. Any offset within the extents may be asked for.
  bool used(std::uint64_t offset) const;

 private:
  using FreeBlocks = absl::btree_map<std::uint64_t, bool>;            // by offset; dirty
  using TakenBlocks = absl::btree_map<std::uint64_t, std::uint64_t>;  // by offset; bytes
  std::size_t order_of(std::uint64_t bytes) const;
  std::uint64_t bytes_of(std::size_t order) const { return kSmallest_bytes << order; }
  bool has_room(std::uint64_t bytes, bool keep_reserve) const;
  std::optional<Block> take(std::size_t order);
  Block split(Block block, std::size_t from, std::size_t to);

  ExtentAllocator& extents_;
  std::vector<FreeBlocks> free_;                       // by order: 4 KiB, 8 KiB, ... below an extent
  absl::btree_map<std::uint64_t, TakenBlocks> taken_;  // by extent
  std::uint64_t free_in_blocks_ = 0;
};

}  // namespace namdb::memory
