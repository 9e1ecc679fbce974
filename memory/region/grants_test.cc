// Grant numbers, and the lives of places of records.
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <vector>

#include "common/base/random.h"
#include "common/layout/record.h"
#include "memory/region/region.h"
#include "memory/region/slab_allocator.h"
#include "memory/testing/test_cluster.h"
#include "proto/control.pb.h"

namespace namdb::memory {
namespace {

constexpr std::uint32_t kGrantTable = 7;
constexpr std::uint64_t kRecord_bytes = 320;

// Marks become durable when the test says so.
class HeldMarks final : public GrantLog {
 public:
  void log_mark(std::uint64_t mark) override { marks.push_back(mark); }
  void log_block(const RecordBlock& block) override { blocks.push_back(block); }
  std::vector<std::uint64_t> marks;
  std::vector<RecordBlock> blocks;
};

struct GrantRegion {
  GrantRegion() {
    Options options;
    options.extent_bytes = 16384;
    options.vector_capacity = 4;
    words.assign((256U << 10) / 8, 0);
    region = std::move(*Region::create(std::as_writable_bytes(std::span(words)), options, 1));
  }
  std::vector<std::uint64_t> words;
  std::unique_ptr<Region> region;
};

}  // namespace

TEST_CASE("grant numbers ascend, and wait for their mark to be durable", "[grants]") {
  GrantNumbers numbers(3);
  const std::uint64_t first = numbers.last();
  CHECK(first == std::uint64_t{3} << 48);
  HeldMarks log;
  numbers.set_log(log);
  CHECK(log.marks.size() == 1);
  CHECK_FALSE(numbers.next());
  CHECK_FALSE(numbers.next());
  REQUIRE(log.marks == std::vector<std::uint64_t>{first + GrantNumbers::kAhead});
  numbers.marked(log.marks.back());
  // The next mark is asked for once, at the half.
  std::uint64_t last = first;
  bool ascending = true;
  bool asked_at_half = true;
  while (const auto number = numbers.next()) {
    ascending = ascending && *number == last + 1;
    last = *number;
    const std::size_t asked = last > first + GrantNumbers::kAhead / 2 ? 2 : 1;
    asked_at_half = asked_at_half && log.marks.size() == asked;
  }
  CHECK(ascending);
  CHECK(asked_at_half);
  CHECK(last == log.marks[0]);
  CHECK(log.marks[1] > last);
  numbers.marked(log.marks[1]);
  CHECK(numbers.next() == last + 1);
}

TEST_CASE("behind a restart every number is greater than all before it", "[grants]") {
  GrantNumbers before;
  HeldMarks log;
  before.set_log(log);
  CHECK_FALSE(before.next());
  before.marked(log.marks.back());
  std::uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) last = *before.next();
  GrantNumbers after;
  after.pass(log.marks.back());
  const std::uint64_t next = *after.next();
  CHECK(next > last);
  CHECK(layout::incarnation_of(next) != layout::incarnation_of(last));
  after.pass(last);
  CHECK(*after.next() == next + 1);
}

TEST_CASE("a place keeps its last number, and counts with one less while its birth may come", "[grants]") {
  GrantRegion test;
  SlabAllocator records(*test.region, kRecord_bytes, Pieces::records, kGrantTable);
  HeldMarks log;
  test.region->grants().set_log(log);
  const std::uint64_t place = *records.allocate(41);
  REQUIRE(log.blocks.size() == 1);
  CHECK(log.blocks[0] == records.record_blocks()[0]);
  CHECK(log.blocks[0].table == kGrantTable);
  CHECK(log.blocks[0].taken == 41);
  CHECK(records.last_grant(place) == 41);
  CHECK(records.life(place) == 40);
  CHECK(records.life(place + kRecord_bytes) == 40);  // never granted since the block was taken
  CHECK(records.life(place + 8) == 0);
  // Any word of it: the birth has begun to come.
  test.region->store(place + kRecord_bytes - 8, 1);
  CHECK(records.life(place) == 41);
  test.region->zero(place, kRecord_bytes);
  records.free(place);
  CHECK(records.last_grant(place) == 41);
  CHECK(records.life(place) == 41);
  CHECK(*records.allocate(55) == place);
  CHECK(records.life(place) == 54);
}

TEST_CASE("a block that was given back and is taken again has no lives but later ones", "[grants]") {
  GrantRegion test;
  std::uint64_t place = 0;
  {
    SlabAllocator records(*test.region, kRecord_bytes, Pieces::records, kGrantTable);
    for (int i = 0; i < 5; ++i) place = *records.allocate(90);
    test.region->store(place, 5);
  }
  SlabAllocator records(*test.region, 640, Pieces::records, kGrantTable + 1);
  const std::uint64_t again = *records.allocate(91);
  CHECK(again <= place);
  CHECK(records.record_blocks()[0].taken == 91);
  CHECK(records.life(again) == 90);
  CHECK(records.life(again + 640) == 90);
}

TEST_CASE("lives of places never go back, whatever comes and goes", "[grants]") {
  GrantRegion test;
  Random random(5);
  SlabAllocator records(*test.region, kRecord_bytes, Pieces::records, kGrantTable);
  std::map<std::uint64_t, std::uint64_t> lives;  // of every place that there ever was
  std::vector<std::uint64_t> held;
  for (int step = 0; step < 20000; ++step) {
    if (random.chance(step % 4000 < 2000 ? 0.6 : 0.4)) {
      const std::uint64_t number = *test.region->grants().next();
      for (std::uint64_t i = random.below(4); i > 0; --i) {
        const auto place = records.allocate(number);
        if (!place) break;
        REQUIRE(lives[*place] < number);
        lives[*place] = number;
        held.push_back(*place);
      }
    } else if (!held.empty()) {
      const std::size_t victim = random.below(held.size());
      records.free(held[victim]);
      held[victim] = held.back();
      held.pop_back();
    }
    const std::uint64_t place =
        lives.empty()
            ? 0
            : std::next(lives.begin(), static_cast<std::ptrdiff_t>(random.below(lives.size())))->first;
    // A place whose block is there: births of lives that are over change nothing, that of the last one does.
    if (!records.block_of(place)) continue;
    CHECK(records.life(place) >= lives[place] - (records.used(place) ? 1 : 0));
    if (records.used(place)) CHECK(records.life(place) < lives[place]);
  }
  // next_granted() comes to every place.
  std::set<std::uint64_t> used;
  std::uint64_t from = 0;
  while (const auto place = records.next_granted(from, ~std::uint64_t{0})) {
    REQUIRE(place->offset >= from);
    CHECK(place->last_grant == lives[place->offset]);
    CHECK(place->block == records.block_of(place->offset));
    if (place->used) used.insert(place->offset);
    from = place->offset + 1;
  }
  CHECK(used == std::set<std::uint64_t>(held.begin(), held.end()));
}

TEST_CASE("a block is claimed where it lay, and its places are as they were", "[grants]") {
  GrantRegion before;
  SlabAllocator records(*before.region, kRecord_bytes, Pieces::records, kGrantTable);
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < 60; ++i) places.push_back(*records.allocate(1000 + i));
  for (std::size_t i = 0; i < places.size(); i += 3) records.free(places[i]);
  GrantRegion after;
  SlabAllocator claimed(*after.region, kRecord_bytes, Pieces::records, kGrantTable);
  for (const RecordBlock& block : records.record_blocks()) REQUIRE(claimed.claim_block(block));
  CHECK(claimed.record_blocks() == records.record_blocks());
  CHECK_FALSE(claimed.claim_block(records.record_blocks()[0]));
  for (const std::uint64_t place : places) {
    REQUIRE(claimed.block_of(place));
    claimed.restore(place, records.last_grant(place), records.used(place));
  }
  for (const std::uint64_t place : places) {
    CHECK(claimed.used(place) == records.used(place));
    CHECK(claimed.last_grant(place) == records.last_grant(place));
  }
  CHECK(claimed.used_count() == records.used_count());
  CHECK(claimed.free_bytes() == records.free_bytes());
  CHECK(after.region->blocks().free_bytes() == before.region->blocks().free_bytes());
  CHECK(*after.region->grants().next() > 1059);
  // The same places come next.
  for (int i = 0; i < 20; ++i) CHECK(*claimed.allocate(2000) == *records.allocate(2000));
  claimed.release_block(records.record_blocks()[0].offset);
  CHECK_FALSE(claimed.block_of(places[0]));
}

TEST_CASE("extents are marked as changed by grants, by places that come back and by blocks that go",
          "[grants]") {
  GrantRegion test;
  ChangedExtents& changed = test.region->changed();
  SlabAllocator plain(*test.region, kRecord_bytes, Pieces::zeroed);
  REQUIRE(plain.allocate());
  CHECK(changed.take().empty());
  SlabAllocator records(*test.region, kRecord_bytes, Pieces::records, kGrantTable);
  const std::uint64_t place = *records.allocate(3);
  const std::uint64_t extent = place & ~std::uint64_t{16383};
  CHECK(changed.take() == std::vector<std::uint64_t>{extent});
  CHECK(changed.take().empty());
  records.free(place);
  CHECK(changed.take() == std::vector<std::uint64_t>{extent});
  records.release_all();
  CHECK(changed.take() == std::vector<std::uint64_t>{extent});
}

TEST_CASE("a reply to ALLOCATE_RECORDS has one number, greater than all before it", "[grants]") {
  testing::TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(testing::hello('a')).ok());
  const auto created = client->create(testing::accounts("t"));
  REQUIRE(created.ok());
  control::AllocateRecordsRequest request;
  request.set_table(created->id());
  request.set_count(30);
  const auto first = client->call<control::AllocateReply>(control::ALLOCATE_RECORDS, request);
  const auto second = client->call<control::AllocateReply>(control::ALLOCATE_RECORDS, request);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->grant() > 0);
  CHECK(second->grant() > first->grant());
  const TablePointer table = cluster.server->tables().find(created->id());
  CHECK(table->records.last_grant(first->ranges(0).offset()) == first->grant());
  CHECK(table->records.last_grant(second->ranges(0).offset()) == second->grant());
  const auto buckets = client->call<control::AllocateReply>(control::ALLOCATE_BUCKETS, request);
  REQUIRE(buckets.ok());
  CHECK(buckets->grant() == 0);
}

TEST_CASE("pieces in use are found in the order of their places, many at once", "[grants]") {
  GrantRegion subject;
  SlabAllocator records(*subject.region, kRecord_bytes, Pieces::records, kGrantTable);
  std::array<std::uint64_t, 7> some{};
  CHECK(records.used_behind(0, some) == 0);
  std::set<std::uint64_t> used;
  std::uint64_t grant = 0;
  while (const auto piece = records.allocate(++grant)) used.insert(*piece);
  REQUIRE(used.size() > 200);
  Random random(5);
  for (const std::uint64_t piece : std::vector(used.begin(), used.end())) {
    if (!random.chance(0.7)) continue;
    records.free(piece);
    used.erase(piece);
  }
  std::vector<std::uint64_t> found;
  std::uint64_t behind = 0;
  while (const std::size_t count = records.used_behind(behind, some)) {
    found.insert(found.end(), some.begin(), some.begin() + count);
    behind = found.back();
  }
  CHECK(found == std::vector(used.begin(), used.end()));
  // Behind unused places, too.
  for (std::uint64_t place = 0; place < *used.rbegin(); place += 24) {
    REQUIRE(records.used_behind(place, some) != 0);
    REQUIRE(some[0] == *used.upper_bound(place));
    REQUIRE(some[0] == records.next_used(place));
  }
}

}  // namespace namdb::memory
