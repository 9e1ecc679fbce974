// Publication of a slot's counters: in ascending order, of those that are finished or whose install was
// posted before on the channel that publishes.
#include "compute/txn/execution_slot.h"

#include <catch2/catch.hpp>
#include <vector>

#include "compute/testing/test_worker.h"

namespace namdb::txn {
namespace {

using protocol::testing::kOwnSlot;
using protocol::testing::RegionFabric;
using protocol::testing::TestWorker;

struct SlotScene {
  explicit SlotScene(std::uint32_t commits) : slot(worker.cluster, {}) {
    REQUIRE(worker.run(slot.lease()).ok());
    REQUIRE(slot.slot() == kOwnSlot);
    for (std::uint32_t i = 0; i < commits; ++i) counters.push_back(*slot.begin_commit_now({}));
    word = fabric::LocalBuffer(worker.cluster.pool(), 8);
  }
  ~SlotScene() { worker.run(slot.drain()); }

  // The n-th commit posts its install; gives the counter up to which that publishes.
  std::uint32_t install(std::size_t n) {
    fabric::Batch batch;
    const std::uint32_t published = slot.piggyback(counters[n], batch, word.data());
    CHECK(batch.operations().size() == (published == 0 ? 0 : 1));
    worker.cluster.channel(0).post(batch);
    REQUIRE_FALSE(batch.pending());
    return published;
  }
  Status finish(std::size_t n) { return worker.run(slot.finish(counters[n])); }
  std::uint32_t shown() {
    const auto words = RegionFabric::kVector_offset + layout::kVectorWords_offset;
    for (std::uint64_t i = 0; i < RegionFabric::kVectorCapacity; ++i) {
      const layout::HeaderWord there(worker.fabric.word({0, words + 8 * i}));
      if (there.stamp().slot == kOwnSlot) return there.stamp().counter;
    }
    return 0;
  }

  TestWorker worker;
  ExecutionSlot slot;
  std::vector<std::uint32_t> counters;
  fabric::LocalBuffer word;
};

}  // namespace

TEST_CASE("commits that install in their order publish each its own counter", "[execution_slot]") {
  SlotScene scene(3);
  for (std::size_t n = 0; n < 3; ++n) CHECK(scene.install(n) == scene.counters[n]);
  CHECK(scene.shown() == scene.counters[2]);
  scene.slot.piggyback_completed(scene.counters[2]);
  CHECK(scene.slot.idle());
}

TEST_CASE("a commit that installs before an older one leaves the publish to that one", "[execution_slot]") {
  SlotScene scene(3);
  CHECK(scene.install(1) == 0);
  CHECK(scene.shown() < scene.counters[0]);
  CHECK(scene.install(0) == scene.counters[1]);
  CHECK(scene.shown() == scene.counters[1]);
  scene.slot.piggyback_completed(scene.counters[1]);
  const std::size_t batches = scene.worker.fabric.batches();
  CHECK(scene.finish(1).ok());
  CHECK(scene.worker.fabric.batches() == batches);
  CHECK(scene.install(2) == scene.counters[2]);
}

TEST_CASE("a finished commit publishes what was installed behind it", "[execution_slot]") {
  SlotScene scene(3);
  CHECK(scene.install(1) == 0);
  CHECK(scene.finish(0).ok());
  CHECK(scene.shown() == scene.counters[1]);
  scene.slot.finish_aborted(scene.counters[2], {});
  CHECK(scene.finish(1).ok());
  CHECK(scene.slot.idle());
}

TEST_CASE("an aborted commit does not keep the next one from publishing", "[execution_slot]") {
  SlotScene scene(3);
  CHECK(scene.install(2) == 0);
  scene.slot.finish_aborted(scene.counters[1], {});
  CHECK(scene.install(0) == scene.counters[2]);
  CHECK(scene.shown() == scene.counters[2]);
}

TEST_CASE("an aborted counter is forgotten once a publish has passed it, though others follow",
          "[execution_slot]") {
  constexpr std::size_t kCommits = 20;
  SlotScene scene(kCommits);
  scene.install(0);
  // A publish is under way at all times.
  for (std::size_t n = 1; n + 1 < kCommits; n += 2) {
    scene.slot.finish_aborted(scene.counters[n], {});
    CHECK(scene.install(n + 1) == scene.counters[n + 1]);
    scene.slot.piggyback_completed(scene.counters[n - 1]);
    CHECK(scene.slot.aborted_count() <= 1);
  }
  scene.slot.piggyback_completed(scene.counters[kCommits - 2]);
  scene.slot.finish_aborted(scene.counters[kCommits - 1], {});
  CHECK(scene.slot.aborted_count() == 0);
  CHECK(scene.slot.idle());
}

}  // namespace namdb::txn
