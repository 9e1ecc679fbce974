#include "memory/region/buddy_allocator.h"

#include <algorithm>
#include <bit>

#include "common/base/check.h"

namespace namdb::memory {

BuddyAllocator::BuddyAllocator(ExtentAllocator& extents) : extents_(extents) {
  for (std::uint64_t bytes = kSmallest_bytes; bytes < extents.extent_bytes(); bytes *= 2)
    free_.emplace_back();
}

std::uint64_t BuddyAllocator::block_bytes(std::uint64_t bytes) const {
  const std::uint64_t extent_bytes = extents_.extent_bytes();
  if (bytes > extent_bytes / 2) return extents_.extents_for(bytes) * extent_bytes;
  return std::max(std::bit_ceil(bytes), std::min(kSmallest_bytes, extent_bytes));
}

std::size_t BuddyAllocator::order_of(std::uint64_t bytes) const {
  return static_cast<std::size_t>(std::countr_zero(bytes / kSmallest_bytes));
}

// The reserve may have nothing but the rest of a block: it is counted in bytes.
bool BuddyAllocator::has_room(std::uint64_t bytes, bool keep_reserve) const {
  const std::uint64_t kept_bytes = keep_reserve ? extents_.reserve() * extents_.extent_bytes() : 0;
  return free_bytes() >= bytes + kept_bytes;
}

std::optional<Block> BuddyAllocator::allocate(std::uint64_t bytes, bool keep_reserve, ExtentUse use) {
  NAMDB_CHECK(bytes > 0);
  const std::uint64_t length = block_bytes(bytes);
  const std::uint64_t keep_free = keep_reserve ? extents_.reserve() : 0;
  const std::uint64_t extent_bytes = extents_.extent_bytes();
  if (length >= extent_bytes) {
    const auto run = extents_.allocate(length / extent_bytes, keep_free, use);
    if (!run) return std::nullopt;
    return Block{run->offset, length, run->dirty};
  }
  const std::size_t order = order_of(length);
  std::optional<Block> block;
  if (has_room(length, keep_reserve)) block = take(order);
  if (!block) {
    const auto run = extents_.allocate(1, keep_free, use);
    if (!run) return std::nullopt;
    free_in_blocks_ += extent_bytes;
    block = split({run->offset, extent_bytes, run->dirty}, free_.size(), order);
  }
  free_in_blocks_ -= length;
  taken_[block->offset & ~(extent_bytes - 1)][block->offset] = length;
  return block;
}

std::optional<Block> BuddyAllocator::claim(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t extent_bytes = extents_.extent_bytes();
  if (bytes >= extent_bytes) {
    if (bytes % extent_bytes != 0) return std::nullopt;
    const auto run = extents_.claim(offset, bytes / extent_bytes);
    if (!run) return std::nullopt;
    return Block{offset, bytes, run->dirty};
  }
  if (bytes < kSmallest_bytes || !std::has_single_bit(bytes) || offset % bytes != 0) return std::nullopt;
  const std::size_t order = order_of(bytes);
  std::optional<Block> block;
  std::size_t from = order;
  for (; from < free_.size() && !block; ++from) {
    const auto found = free_[from].find(offset & ~(bytes_of(from) - 1));
    if (found == free_[from].end()) continue;
    block = Block{found->first, bytes_of(from), found->second};
    free_[from].erase(found);
    break;
  }
  if (!block) {
    const auto run = extents_.claim(offset & ~(extent_bytes - 1), 1);
    if (!run) return std::nullopt;
    free_in_blocks_ += extent_bytes;
    block = Block{run->offset, extent_bytes, run->dirty};
  }
  while (from > order) {
    --from;
    const std::uint64_t upper = block->offset + bytes_of(from);
    free_[from][offset < upper ? upper : block->offset] = block->dirty;
    if (offset >= upper) block->offset = upper;
  }
  block->bytes = bytes;
  free_in_blocks_ -= bytes;
  taken_[offset & ~(extent_bytes - 1)][offset] = bytes;
  return block;
}

// Of the smallest that is large enough, so that large ones stay whole.
std::optional<Block> BuddyAllocator::take(std::size_t order) {
  for (std::size_t from = order; from < free_.size(); ++from) {
    if (free_[from].empty()) continue;
    const auto [offset, dirty] = *free_[from].begin();
    free_[from].erase(free_[from].begin());
    return split({offset, bytes_of(from), dirty}, from, order);
  }
  return std::nullopt;
}

Block BuddyAllocator::split(Block block, std::size_t from, std::size_t to) {
  while (from > to) {
    --from;
    free_[from][block.offset + bytes_of(from)] = block.dirty;
  }
  return {block.offset, bytes_of(to), block.dirty};
}

void BuddyAllocator::free(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t extent_bytes = extents_.extent_bytes();
  if (bytes >= extent_bytes) {
    NAMDB_CHECK(bytes % extent_bytes == 0);
    extents_.free(offset, bytes / extent_bytes);
    return;
  }
  const auto extent = taken_.find(offset & ~(extent_bytes - 1));
  NAMDB_CHECK(extent != taken_.end());
  const auto found = extent->second.find(offset);
  NAMDB_CHECK(found != extent->second.end() && found->second == bytes);
  extent->second.erase(found);
  free_in_blocks_ += bytes;
  std::size_t order = order_of(bytes);
  for (; order < free_.size(); ++order) {
    // Extents are aligned to their size: a half's other half differs in one bit.
    const auto other = free_[order].find(offset ^ bytes_of(order));
    if (other == free_[order].end()) break;
    offset = std::min(offset, other->first);
    free_[order].erase(other);
  }
  if (order < free_.size()) {
    free_[order][offset] = true;
    return;
  }
  taken_.erase(extent);
  free_in_blocks_ -= extent_bytes;
  extents_.free(offset, 1);
}

bool BuddyAllocator::used(std::uint64_t offset) const {
  const std::uint64_t extent_bytes = extents_.extent_bytes();
  if (!extents_.used((offset - extents_.first_offset()) / extent_bytes)) return false;
  const auto extent = taken_.find(offset & ~(extent_bytes - 1));
  if (extent == taken_.end()) return true;
  auto block = extent->second.upper_bound(offset);
  if (block == extent->second.begin()) return false;
  --block;
  return offset - block->first < block->second;
}

}  // namespace namdb::memory
