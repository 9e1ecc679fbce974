// A region, its chunks, and an empty region: equal rows, lives and blocks.
#include "memory/checkpoint/restorer.h"

#include <catch2/catch.hpp>

#include "memory/checkpoint/testing/install_workload.h"

namespace namdb::memory {
namespace {

using testing::EntryLog;
using testing::InstallWorkload;
using testing::MemoryStore;
using testing::RegionScene;

// A region in which transactions ran, and its checkpoint.
struct Original {
  explicit Original(std::uint64_t seed) : executor(seed), scene(executor), store(executor) {
    log.numbers = &scene.region->grants();
    scene.region->grants().set_log(log);
    scene.prepare_tables();
    InstallWorkload workload(scene, log, seed);
    reactor::Gate gate;
    for (int i = 0; i < 4; ++i) executor.spawn(gate, workload.write());
    for (int i = 0; i < 4000; ++i) executor.turn();
    workload.stop();
    executor.run_until([&gate] { return gate.count() == 0; });
    Sweeper sweeper(executor, *scene.region, *scene.tables, store, log, {});
    REQUIRE(scene.run(sweeper.run()).ok());
    const std::vector<std::byte>& bytes = store.kept.back().state;
    REQUIRE(state.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  }
  const std::map<std::uint64_t, std::vector<std::byte>>& chunks() const { return store.kept.back().chunks; }

  reactor::testing::ManualExecutor executor;
  RegionScene scene;
  EntryLog log;
  MemoryStore store;
  control::CheckpointState state;
};

struct Restored {
  Restored() : scene(executor) { scene.restore_tables(); }
  reactor::testing::ManualExecutor executor;
  RegionScene scene;
  Restorer restorer{*scene.region, *scene.tables};

  bool birth(std::uint32_t table, std::uint64_t offset, std::uint64_t grant,
             const std::vector<std::byte>& body) {
    return testing::apply_birth(scene, restorer, table, offset, grant, body);
  }
};

// By place of records: its life.
std::map<std::uint64_t, std::uint64_t> lives(RegionScene& scene) {
  std::map<std::uint64_t, std::uint64_t> all;
  for (const std::uint32_t id : {1U, 2U}) {
    for (const RecordBlock& block : scene.records(id).record_blocks()) {
      const std::uint64_t unit = scene.records(id).unit_bytes();
      for (std::uint64_t at = block.offset; at + unit <= block.offset + block.bytes; at += unit)
        all[at] = scene.records(id).life(at);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a region comes back from its chunks: rows, lives, blocks, numbers", "[restore]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Original before(seed);
    Restored after;
    REQUIRE(after.restorer.state(before.state).ok());
    for (const auto& [extent, bytes] : before.chunks()) REQUIRE(after.restorer.chunk(extent, bytes).ok());
    REQUIRE(before.scene.rows().size() > 3);
    CHECK(after.scene.rows() == before.scene.rows());
    CHECK(lives(after.scene) == lives(before.scene));
    for (const std::uint32_t id : {1U, 2U}) {
      CHECK(after.scene.records(id).record_blocks() == before.scene.records(id).record_blocks());
      // Places in use are those with a body.
      for (std::uint64_t at = after.scene.records(id).next_used(0); at != 0;
           at = after.scene.records(id).next_used(at)) {
        CHECK(layout::certify_body(after.scene.body_at(id, at), after.scene.region->address(at)));
      }
    }
    CHECK(*after.scene.region->grants().next() > before.scene.region->grants().last());
    // A grant is greater than all before it at its place, and another incarnation.
    for (const std::uint32_t id : {1U, 2U}) after.scene.tables->all().at(id)->ready = true;
    control::AllocateReply reply;
    REQUIRE(after.scene.tables->allocate_records(1, 200, reply).ok());
    const auto old = lives(before.scene);
    for (const control::Range& range : reply.ranges()) {
      for (std::uint64_t i = 0; i < range.length_bytes(); i += after.scene.records(1).unit_bytes()) {
        const auto known = old.find(range.offset() + i);
        if (known == old.end()) continue;
        CHECK(reply.grant() > known->second);
        CHECK(layout::incarnation_of(reply.grant()) != layout::incarnation_of(known->second));
        // Nor that of a tombstone that was reclaimed.
        CHECK(layout::incarnation_of(reply.grant()) != layout::incarnation_of(known->second + 1));
      }
    }
  }
}

TEST_CASE("a birth is news under a greater number than the place's life only", "[restore]") {
  Original before(2);
  Restored after;
  REQUIRE(after.restorer.state(before.state).ok());
  for (const auto& [extent, bytes] : before.chunks()) REQUIRE(after.restorer.chunk(extent, bytes).ok());
  const RecordBlock block = before.scene.records(1).record_blocks().at(0);
  const auto body = before.scene.make_body(1, block.offset, {.stamp = {40, 1}});
  const std::uint64_t life = after.scene.records(1).life(block.offset);
  CHECK_FALSE(after.birth(1, block.offset, life, body));
  CHECK(after.birth(1, block.offset, life + 5, body));
  CHECK(after.scene.body_at(1, block.offset) == body);
  CHECK_FALSE(after.birth(1, block.offset, life + 5, body));
  CHECK_FALSE(after.birth(1, block.offset + 8, life + 9, body));
  CHECK_FALSE(after.birth(3, block.offset, life + 9, body));
  CHECK_FALSE(after.birth(1, 1U << 30, life + 9, body));
}

TEST_CASE("the block that was taken later has the memory", "[restore]") {
  Restored after;
  const std::uint64_t extent = after.scene.region->map().first_extent_offset;
  const RecordBlock old{1, extent, 8192, 10};
  const RecordBlock later{2, extent + 4096, 4096, 20};
  REQUIRE(after.restorer.block(old).ok());
  std::uint64_t second = old.offset;
  while (second < later.offset) second += after.scene.records(1).unit_bytes();
  CHECK(after.birth(1, second, 12, after.scene.make_body(1, second, {.stamp = {16, 1}})));
  REQUIRE(after.restorer.block(later).ok());
  CHECK_FALSE(after.scene.records(1).block_of(second));
  CHECK(after.scene.records(2).life(later.offset) == 19);
  CHECK(after.scene.region->load(second + 8) == 0);
  // The older one is over, in whichever order they come.
  REQUIRE(after.restorer.block(old).ok());
  CHECK_FALSE(after.scene.records(1).block_of(second));
  CHECK(after.scene.records(2).record_blocks() == std::vector<RecordBlock>{later});
}

TEST_CASE("a value that a checkpoint cannot mean is an error by name", "[restore]") {
  Original before(4);
  const auto& [extent, bytes] = *before.chunks().begin();
  {
    Restored after;
    REQUIRE(after.restorer.state(before.state).ok());
    std::vector<std::byte> flipped = bytes;
    flipped[100] ^= std::byte{1};
    CHECK(after.restorer.chunk(extent, flipped).code() == ErrorCode::corrupt_data);
  }
  Restored after;
  REQUIRE(after.restorer.state(before.state).ok());
  const RecordBlock block = before.scene.records(1).record_blocks().at(0);
  const layout::RecordLayout& shape = before.scene.shape(1);
  // A body of another place.
  ChunkWriter moved(extent);
  const auto body = before.scene.make_body(1, block.offset + 8, {.stamp = {16, 1}});
  moved.place(block, {shape.record_bytes(), shape.body_bytes()}, {block.offset, 40, body});
  CHECK(after.restorer.chunk(extent, moved.finish()).code() == ErrorCode::corrupt_data);
  ChunkWriter other(extent);
  other.place(block, {shape.record_bytes() + 8, shape.body_bytes()}, {block.offset, 40, {}});
  CHECK(after.restorer.chunk(extent, other.finish()).code() == ErrorCode::corrupt_data);
  CHECK(after.restorer.block({1, 1U << 30, 4096, ~std::uint64_t{0} >> 16}).code() ==
        ErrorCode::out_of_memory);
  CHECK(after.restorer.block({1, ~std::uint64_t{0} - 4095, 8192, ~std::uint64_t{0} >> 16}).code() ==
        ErrorCode::corrupt_data);
  // Of a table that is gone, nothing.
  CHECK(after.restorer.block({9, block.offset, 4096, ~std::uint64_t{0} >> 16}).ok());
  ChunkWriter gone(extent);
  gone.place({9, block.offset, 4096, 50}, {64, 40}, {block.offset, 60, {}});
  CHECK(after.restorer.chunk(extent, gone.finish()).ok());
}

}  // namespace namdb::memory
