#include "memory/reclaim/version_mover.h"

#include <catch2/catch.hpp>

#include "common/calls/hot_calls.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using calls::kMoveVersionsMethod;
using layout::Stamp;
using testing::TestCluster;

// A record of one slot's commits 1, 2, ..., and the worker that has them moved.
struct MoverTest {
  explicit MoverTest(std::uint32_t ring_slots = 4, Options options = testing::small_options())
      : cluster(options), client(cluster.client("c")) {
    REQUIRE(client->connect(testing::hello('a')).ok());
    slot = *client->lease();
    table = *client->create(testing::accounts("accounts", 4, ring_slots));
    record = client->allocate(table.id(), 1, false, table.ring_slots())->front();
    cluster.insert(table, record, 7, stamp(1));
  }
  Stamp stamp(std::uint32_t counter) const { return {slot.slot(), counter}; }
  void update(std::uint32_t counter) { cluster.update(table, record, stamp(counter)); }
  void move() { REQUIRE(client->hint(kMoveVersionsMethod, table.id(), {record}).ok()); }
  layout::HeaderWord ring(std::uint32_t index) {
    return layout::HeaderWord(cluster.load(record + TestCluster::layout_of(table).ring_header_offset(index)));
  }
  std::vector<Stamp> chain() { return cluster.overflow_chain(table, record); }

  TestCluster cluster;
  std::unique_ptr<testing::TestClient> client;
  control::LeaseSlotReply slot;
  control::TableDescriptor table;
  std::uint64_t record = 0;
};

TEST_CASE("the mover copies all unmoved versions, and the chain reads from new to old") {
  MoverTest test;
  test.update(2);
  test.update(3);
  test.update(4);
  test.move();
  CHECK(test.chain() == std::vector<Stamp>{test.stamp(3), test.stamp(2), test.stamp(1)});
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(test.ring(i).moved());
  // The ring words still name what their slots hold.
  CHECK(test.ring(1).stamp() == test.stamp(1));
  CHECK(test.ring(3).stamp() == test.stamp(3));
  test.move();  // nothing is left
  CHECK(test.chain().size() == 3);
  for (std::uint32_t counter = 5; counter <= 8; ++counter) test.update(counter);
  test.move();
  CHECK(test.chain().size() == 7);
  CHECK(test.chain().front() == test.stamp(7));
  CHECK(test.cluster.server->status().versions_moved() == 7);
}

TEST_CASE("a ring of one slot can be moved after every update") {
  MoverTest test(1);
  for (std::uint32_t counter = 2; counter <= 20; ++counter) {
    test.update(counter);
    test.move();
    REQUIRE(test.chain().front() == test.stamp(counter - 1));
  }
  CHECK(test.chain().size() == 19);
}

TEST_CASE("a payload that does not certify, or is not the stamp's, is never moved") {
  MoverTest test;
  test.update(2);
  test.update(3);
  const layout::RecordLayout shape = TestCluster::layout_of(test.table);
  const std::uint64_t payload = test.record + shape.ring_payload_offset(1);
  const std::uint64_t word = test.cluster.load(payload + 32);
  SECTION("torn payload") {
    test.cluster.store(payload + 32, word + 1);
  }
  SECTION("another version's payload, whole") {
    const auto from = test.cluster.bytes(test.record + shape.ring_payload_offset(2), shape.body_bytes());
    std::copy(from.begin(), from.end(), test.cluster.bytes(payload, shape.body_bytes()).begin());
  }
  test.move();
  CHECK(test.chain().empty());
  CHECK_FALSE(test.ring(1).moved());
  // The newer one waits for it: the oldest goes first.
  CHECK_FALSE(test.ring(2).moved());
}

TEST_CASE("while the body is being written nothing is moved") {
  MoverTest test;
  test.update(2);
  const std::uint64_t word = test.cluster.load(test.record + 40);
  test.cluster.store(test.record + 40, ~word);
  test.move();
  CHECK(test.chain().empty());
  test.cluster.store(test.record + 40, word);
  test.move();
  CHECK(test.chain() == std::vector<Stamp>{test.stamp(1)});
}

TEST_CASE("a ring slot that a writer fills before it installs is left alone") {
  MoverTest test;
  test.update(2);
  // A writer has put the current version into slot 2 and has not written its body yet.
  const layout::RecordLayout shape = TestCluster::layout_of(test.table);
  const auto body = test.cluster.bytes(test.record + 8, shape.body_bytes());
  std::copy(body.begin(), body.end(),
            test.cluster.bytes(test.record + shape.ring_payload_offset(2), shape.body_bytes()).begin());
  test.cluster.store(test.record + shape.ring_header_offset(2), layout::HeaderWord(test.stamp(2)).value());
  test.move();
  CHECK(test.chain() == std::vector<Stamp>{test.stamp(1)});
  CHECK_FALSE(test.ring(2).moved());
}

TEST_CASE("offsets that are no records are skipped") {
  MoverTest test;
  test.update(2);
  REQUIRE(test.client
              ->hint(kMoveVersionsMethod, test.table.id(),
                     {0, 8, test.record + 8, test.record + 64, ~std::uint64_t{0}, test.record})
              .ok());
  CHECK(test.chain().size() == 1);
  CHECK(test.client->hint(kMoveVersionsMethod, test.table.id() + 1, {test.record}).code() ==
        ErrorCode::undefined_table);
  CHECK(test.client->hint(kMoveVersionsMethod, test.table.id(), std::vector<std::uint64_t>(513)).code() ==
        ErrorCode::protocol_violation);
}

TEST_CASE(
    "new rows leave room for old versions, and a call that finds none is told that some will be freed") {
  MoverTest test;
  while (test.client->allocate(test.table.id(), 1000, true).ok()) {
  }
  std::uint32_t counter = 1;
  Status status;
  while (status.ok() && counter < 100'000) {
    test.update(++counter);
    status = test.client->hint(kMoveVersionsMethod, test.table.id(), {test.record});
  }
  CHECK(counter > 100);
  CHECK(status.code() == ErrorCode::ring_full);
  CHECK(test.chain().front() ==
        test.stamp(counter - 2));  // the last one's displaced version stays in the ring
  // No worker acknowledges: they age.
  test.cluster.publish(test.slot, counter);
  test.cluster.run_for(200 * kMillisecond_ns);
  CHECK(test.client->hint(kMoveVersionsMethod, test.table.id(), {test.record}).ok());
}

}  // namespace
}  // namespace namdb::memory
