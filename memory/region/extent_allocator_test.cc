#include "memory/region/extent_allocator.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "common/base/random.h"
#include "memory/region/region.h"
#include "memory/region/slab_allocator.h"

namespace namdb::memory {
namespace {

TEST_CASE("a run of extents is contiguous, and everything comes back") {
  ExtentAllocator extents(4096, 4096, 8);
  const auto pair = extents.allocate(2);
  const auto single = extents.allocate(1);
  const auto five = extents.allocate(5);
  REQUIRE(pair);
  REQUIRE(single);
  REQUIRE(five);
  CHECK(pair->offset == 7 * 4096);
  CHECK(single->offset == 6 * 4096);
  CHECK(five->offset == 4096);
  CHECK(extents.free_count() == 0);
  CHECK_FALSE(extents.allocate(1));
  extents.free(pair->offset, 2);
  CHECK_FALSE(extents.allocate(3));
  extents.free(five->offset, 5);
  extents.free(single->offset, 1);
  const auto all = extents.allocate(8);
  REQUIRE(all);
  CHECK(all->dirty);
  CHECK_FALSE(pair->dirty);
}

TEST_CASE("extents for records are the lowest that are free, all others the highest") {
  ExtentAllocator extents(4096, 4096, 8);
  const auto place = [&](std::uint64_t count, ExtentUse use) {
    const auto run = extents.allocate(count, 0, use);
    return run ? run->offset / 4096 - 1 : 99;
  };
  CHECK(place(1, ExtentUse::records) == 0);
  CHECK(place(1, ExtentUse::other) == 7);
  CHECK(place(2, ExtentUse::records) == 1);
  CHECK(place(2, ExtentUse::other) == 5);
  extents.free(4096, 1);
  extents.free(8 * 4096, 1);
  CHECK(place(2, ExtentUse::other) == 3);
  CHECK(place(1, ExtentUse::records) == 0);
  CHECK(place(1, ExtentUse::records) == 7);
  CHECK(extents.free_count() == 0);
}

TEST_CASE("a run of extents is claimed if all of it is free, behind the end, too") {
  ExtentAllocator extents(4096, 4096, 4);
  const auto claimed = extents.claim(2 * 4096, 2);
  REQUIRE(claimed);
  CHECK_FALSE(claimed->dirty);
  CHECK_FALSE(extents.claim(3 * 4096, 1));
  CHECK_FALSE(extents.claim(3 * 4096 + 8, 1));
  CHECK_FALSE(extents.claim(0, 1));
  CHECK_FALSE(extents.claim(4 * 4096, 2));
  CHECK_FALSE(extents.claim(~std::uint64_t{4095}, 1));
  extents.set_source([&](std::uint64_t lacking) {
    if (extents.count() + lacking > 6) return false;
    extents.add(lacking);
    return true;
  });
  CHECK_FALSE(extents.claim(4 * 4096, 4));
  REQUIRE(extents.claim(4 * 4096, 2));
  CHECK(extents.count() == 5);
  CHECK(extents.free_count() == 1);
}

TEST_CASE("random allocations of extents never overlap and never leak") {
  Random random(7);
  ExtentAllocator extents(1 << 20, 4096, 64);
  std::map<std::uint64_t, std::uint64_t> held;
  for (int step = 0; step < 5000; ++step) {
    if (random.chance(0.5)) {
      const std::uint64_t want = 1 + random.below(9);
      if (const auto run = extents.allocate(want)) {
        const auto next = held.lower_bound(run->offset);
        CHECK((next == held.end() || next->first >= run->offset + want * 4096));
        if (next != held.begin())
          CHECK(std::prev(next)->first + std::prev(next)->second * 4096 <= run->offset);
        held[run->offset] = want;
      }
    } else if (!held.empty()) {
      auto victim = held.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random.below(held.size())));
      extents.free(victim->first, victim->second);
      held.erase(victim);
    }
    std::uint64_t used = 0;
    for (const auto& [offset, count] : held) used += count;
    REQUIRE(extents.free_count() + used == 64);
  }
}

struct SmallRegion {
  SmallRegion() {
    Options options;
    options.extent_bytes = 4096;
    options.vector_capacity = 4;
    memory.assign((64U << 10) / 8, 0);
    region = std::move(*Region::create(std::as_writable_bytes(std::span(memory)), options, 1));
  }
  std::vector<std::uint64_t> memory;
  std::unique_ptr<Region> region;
};

TEST_CASE("a slab allocator knows which pieces are handed out, and gives empty blocks back") {
  SmallRegion small;
  const std::uint64_t before = small.region->extents().free_count();
  {
    SlabAllocator units(*small.region, 320, Pieces::zeroed);
    std::vector<std::uint64_t> held;
    for (int i = 0; i < 30; ++i) held.push_back(*units.allocate());
    CHECK(units.used_bytes() == 30 * 320);
    CHECK(small.region->extents().free_count() == before - 3);
    CHECK_FALSE(units.used(held[0] + 8));
    CHECK_FALSE(units.used(0));
    CHECK_FALSE(units.used(~std::uint64_t{0}));
    std::uint64_t seen = 0;
    for (std::uint64_t unit = units.next_used(0); unit != 0; unit = units.next_used(unit)) {
      CHECK(units.used(unit));
      ++seen;
    }
    CHECK(seen == 30);
    for (const std::uint64_t unit : held) units.free(unit);
    CHECK(units.used_bytes() == 0);
    CHECK(units.next_used(0) == 0);
    CHECK(small.region->extents().free_count() == before - 1);
  }
  CHECK(small.region->extents().free_count() == before);
}

TEST_CASE("a unit larger than an extent takes a run of its own") {
  SmallRegion small;
  SlabAllocator units(*small.region, 5000, Pieces::zeroed);
  const auto unit = units.allocate();
  REQUIRE(unit);
  CHECK(units.used(*unit));
  CHECK(units.block_bytes() == 8192);
}

TEST_CASE("units from used extents are zero") {
  SmallRegion small;
  SlabAllocator units(*small.region, 64, Pieces::zeroed);
  while (const auto unit = units.allocate()) small.region->store(*unit, ~std::uint64_t{0});
  CHECK(small.region->extents().free_count() == small.region->extents().reserve());
  units.release_all();
  while (const auto unit = units.allocate()) REQUIRE(small.region->load(*unit) == 0);
}

TEST_CASE("an allocation asks for the extents that it lacks, and no more than once") {
  ExtentAllocator extents(4096, 4096, 4);
  std::vector<std::uint64_t> asked;
  std::uint64_t left = 8;
  extents.set_source([&](std::uint64_t lacking) {
    asked.push_back(lacking);
    if (lacking > left) return false;
    left -= lacking;
    extents.add(lacking);
    return true;
  });
  const auto two = extents.allocate(2, 0, ExtentUse::records);
  REQUIRE(two);
  CHECK(asked.empty());
  // Two are free at the end: a run of five begins there.
  const auto five = extents.allocate(5);
  REQUIRE(five);
  CHECK(five->offset == 3 * 4096);
  CHECK_FALSE(five->dirty);
  extents.free(two->offset, 2);
  // Of two that are free one has to stay so.
  REQUIRE(extents.allocate(1, 1));
  REQUIRE(extents.allocate(1, 1));
  CHECK(extents.free_count() == 1);
  CHECK(asked == std::vector<std::uint64_t>{3, 1});
  CHECK_FALSE(extents.allocate(5));
  CHECK(extents.count() == 8);
  CHECK(extents.allocate(1));
}

TEST_CASE("a region grows in steps up to its limit, and says where every byte is") {
  constexpr std::uint64_t kLimit_bytes = 256U << 10;
  std::vector<std::uint64_t> memory(kLimit_bytes / 8);
  Options options;
  options.extent_bytes = 4096;
  options.vector_capacity = 4;
  const auto bytes = std::as_writable_bytes(std::span(memory)).first((64U << 10) + 1000);
  const auto region = std::move(*Region::create(bytes, options, 1, kLimit_bytes));
  std::vector<std::uint64_t> lengths;
  bool refused = false;
  region->set_lengthen([&](std::uint64_t length_bytes) -> Result<std::uint64_t> {
    if (refused) return Status(ErrorCode::out_of_memory, "");
    lengths.push_back(length_bytes);
    return length_bytes;
  });
  CHECK(region->map().limit_bytes == kLimit_bytes);
  const std::uint64_t obtainable = region->obtainable_bytes();
  std::uint64_t used = 0;
  while (region->extents().free_count() != 0) used += region->extents().allocate(1)->extents;
  refused = true;
  CHECK_FALSE(region->extents().allocate(1));
  refused = false;
  while (region->extents().allocate(1)) ++used;
  CHECK(used * 4096 == obtainable);
  CHECK(region->obtainable_bytes() == 0);
  CHECK(lengths.size() > 10);
  CHECK(std::is_sorted(lengths.begin(), lengths.end()));
  CHECK(lengths.back() == kLimit_bytes);
  CHECK(region->bytes() == kLimit_bytes);
  CHECK(region->fixed_bytes() == kLimit_bytes - used * 4096);
}

TEST_CASE("a region that cannot hold its frame is refused") {
  std::vector<std::uint64_t> memory(2048);
  const auto bytes = std::as_writable_bytes(std::span(memory));
  Options options;
  CHECK(Region::create(bytes, options, 1).status().code() == ErrorCode::configuration);
  options.extent_bytes = 3000;
  CHECK(Region::create(bytes, options, 1).status().code() == ErrorCode::configuration);
  options.extent_bytes = 4096;
  options.vector_capacity = 16;
  CHECK(Region::create(bytes, options, 1).ok());
  options.server_id = 1;
  CHECK(Region::create(bytes, options, 1).status().code() == ErrorCode::configuration);
}

}  // namespace
}  // namespace namdb::memory
