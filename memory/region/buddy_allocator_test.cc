#include "memory/region/buddy_allocator.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "common/base/random.h"
#include "memory/region/overflow.h"
#include "memory/region/region.h"
#include "memory/region/slab_allocator.h"

namespace namdb::memory {
namespace buddy_allocator_test {

constexpr std::uint64_t kExtent_bytes = 64U << 10;

TEST_CASE("a block is a power of two from 4 KiB, or whole extents") {
  ExtentAllocator extents(kExtent_bytes, kExtent_bytes, 8);
  const BuddyAllocator blocks(extents);
  CHECK(blocks.block_bytes(1) == 4096);
  CHECK(blocks.block_bytes(4096) == 4096);
  CHECK(blocks.block_bytes(4097) == 8192);
  CHECK(blocks.block_bytes(kExtent_bytes / 2) == kExtent_bytes / 2);
  CHECK(blocks.block_bytes(kExtent_bytes / 2 + 1) == kExtent_bytes);
  CHECK(blocks.block_bytes(3 * kExtent_bytes - 5) == 3 * kExtent_bytes);
  ExtentAllocator small(4096, 4096, 8);
  CHECK(BuddyAllocator(small).block_bytes(100) == 4096);
}

TEST_CASE("blocks of different sizes share an extent, which comes back when all are free") {
  ExtentAllocator extents(kExtent_bytes, kExtent_bytes, 2);
  BuddyAllocator blocks(extents);
  std::vector<Block> held;
  for (const std::uint64_t bytes : {4000U, 30'000U, 8000U, 16'000U, 4096U})
    held.push_back(*blocks.allocate(bytes));
  CHECK(extents.free_count() == 1);
  CHECK(blocks.free_bytes() == kExtent_bytes);
  for (const Block& block : held) {
    CHECK(block.offset % block.bytes == 0);
    CHECK_FALSE(block.dirty);
    CHECK(blocks.used(block.offset));
    blocks.free(block.offset, block.bytes);
    CHECK_FALSE(blocks.used(block.offset));
  }
  CHECK(extents.free_count() == 2);
  // The extents come from the end: the first block is that of the first again.
  CHECK(blocks.allocate(4096)->dirty);
}

TEST_CASE("random allocations of blocks never overlap and never leak, and each knows whether it was used") {
  Random random(11);
  constexpr std::uint64_t kExtents = 12;
  ExtentAllocator extents(kExtent_bytes, kExtent_bytes, kExtents);
  BuddyAllocator blocks(extents);
  std::map<std::uint64_t, std::uint64_t> held;
  std::vector<bool> touched(kExtents * kExtent_bytes / 4096);
  for (int step = 0; step < 20'000; ++step) {
    if (random.chance(0.55)) {
      const std::uint64_t want = random.chance(0.1) ? 1 + random.below(3 * kExtent_bytes)
                                                    : std::uint64_t{1} << random.between(3, 15);
      const auto block = blocks.allocate(want);
      if (!block) continue;
      REQUIRE(block->bytes >= want);
      const auto next = held.lower_bound(block->offset);
      REQUIRE((next == held.end() || next->first >= block->offset + block->bytes));
      if (next != held.begin()) REQUIRE(std::prev(next)->first + std::prev(next)->second <= block->offset);
      held[block->offset] = block->bytes;
      for (std::uint64_t at = 0; at < block->bytes; at += 4096) {
        const std::uint64_t page = (block->offset + at - kExtent_bytes) / 4096;
        if (touched[page]) REQUIRE(block->dirty);
        touched[page] = true;
        REQUIRE(blocks.used(block->offset + at));
      }
    } else if (!held.empty()) {
      auto victim = held.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random.below(held.size())));
      blocks.free(victim->first, victim->second);
      held.erase(victim);
    }
    std::uint64_t used = 0;
    for (const auto& [offset, bytes] : held) used += bytes;
    REQUIRE(blocks.free_bytes() + used == kExtents * kExtent_bytes);
  }
  for (const auto& [offset, bytes] : held) blocks.free(offset, bytes);
  CHECK(extents.free_count() == kExtents);
}

struct TwoExtents {
  TwoExtents() {
    Options options;
    options.extent_bytes = kExtent_bytes;
    options.vector_capacity = 4;
    memory.assign(3 * kExtent_bytes / 8, 0);
    region = std::move(*Region::create(std::as_writable_bytes(std::span(memory)), options, 1));
  }
  std::vector<std::uint64_t> memory;
  std::unique_ptr<Region> region;
};

TEST_CASE("blocks are claimed in any order, and lie where they lay before") {
  const std::uint64_t bytes = std::uint64_t{4} << 20;
  Options options;
  options.extent_bytes = kExtent_bytes;
  std::vector<std::uint64_t> memory(bytes / 8);
  const auto make = [&] {
    return std::move(*Region::create(std::as_writable_bytes(std::span(memory)), options, 1));
  };
  const auto before = make();
  Random random(11);
  std::vector<Block> blocks;
  for (int i = 0; i < 200; ++i) {
    const auto block = before->blocks().allocate(4096ULL << random.below(7));
    if (block) blocks.push_back(*block);
    if (!blocks.empty() && random.chance(0.4)) {
      const std::size_t victim = random.below(blocks.size());
      before->blocks().free(blocks[victim].offset, blocks[victim].bytes);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(victim));
    }
  }
  REQUIRE(blocks.size() > 20);
  const auto after = make();
  for (std::size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[random.below(i)]);
  for (const Block& block : blocks) {
    REQUIRE(after->blocks().claim(block.offset, block.bytes));
    CHECK_FALSE(after->blocks().claim(block.offset, block.bytes));
    CHECK_FALSE(after->blocks().claim(block.offset, 4096));
  }
  CHECK(after->blocks().free_bytes() == before->blocks().free_bytes());
  for (const Block& block : blocks) after->blocks().free(block.offset, block.bytes);
  CHECK(after->extents().free_count() == after->extents().count());
  CHECK_FALSE(after->blocks().claim(after->extents().first_offset() + 4096, 8192));
  CHECK_FALSE(after->blocks().claim(after->extents().first_offset(), 5000));
}

TEST_CASE("tables do not take the reserve for old versions from those versions' extents, either") {
  const TwoExtents two;
  BuddyAllocator& blocks = two.region->blocks();
  REQUIRE(two.region->extents().reserve() == 1);
  while (blocks.allocate(4096, true)) {
  }
  REQUIRE(two.region->extents().free_count() == 1);
  REQUIRE(blocks.allocate(4096));
  CHECK(two.region->extents().free_count() == 0);
  CHECK_FALSE(blocks.allocate(4096, true));
  CHECK(blocks.free_bytes() == kExtent_bytes - 4096);
}

TEST_CASE("old versions of different lengths share the last extent") {
  const TwoExtents two;
  SlabAllocator rows(*two.region, 320, Pieces::zeroed);
  while (rows.allocate()) {
  }
  REQUIRE(two.region->extents().free_count() == 1);
  Overflow overflow(*two.region);
  std::map<std::uint64_t, std::uint32_t> entries;
  for (const std::uint32_t entry_bytes : {160U, 328U, 1048U, 5000U}) {
    for (int i = 0; i < 5; ++i) {
      const auto entry = overflow.allocate({}, entry_bytes);
      REQUIRE(entry);
      entries[entry->word()] = entry_bytes;
    }
  }
  CHECK(two.region->extents().free_count() == 0);
  for (const auto& [entry, entry_bytes] : entries) overflow.free(layout::OverflowLink(entry), entry_bytes);
  CHECK(two.region->extents().free_count() == 1);
}

TEST_CASE("pieces begin in a small block, and lie in whole extents once there are many") {
  const std::uint64_t bytes = std::uint64_t{4} << 20;
  Options options;
  options.extent_bytes = kExtent_bytes;
  std::vector<std::uint64_t> memory(bytes / 8);
  const auto region = std::move(*Region::create(std::as_writable_bytes(std::span(memory)), options, 1));
  SlabAllocator units(*region, 192, Pieces::zeroed);
  REQUIRE(units.allocate());
  CHECK(units.block_bytes() == 4096);
  while (units.used_bytes() < bytes / 2) REQUIRE(units.allocate());
  std::uint64_t small = 0;
  for (const Block& block : units.blocks()) small += block.bytes < kExtent_bytes ? 1 : 0;
  CHECK(small == 5);  // 4, 4, 8, 16 and 32 KiB
  CHECK(units.block_bytes() < units.used_bytes() + 2 * kExtent_bytes);
  // Little of a block is too small for a piece.
  SlabAllocator odd(*region, 2904, Pieces::zeroed);
  REQUIRE(odd.allocate());
  CHECK(odd.block_bytes() - odd.used_bytes() - odd.free_bytes() <= odd.block_bytes() / 8);
}

}  // namespace buddy_allocator_test
}  // namespace namdb::memory
