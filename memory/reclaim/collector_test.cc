#include "memory/reclaim/collector.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "common/calls/hot_calls.h"
#include "common/layout/record_trailer.h"
#include "common/layout/timestamp_floors.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using layout::Stamp;
using testing::TestCluster;

constexpr std::uint64_t kTick_ns = 10 * kMillisecond_ns;  // several paces of the collector
constexpr std::uint64_t kAge_ns = 110 * kMillisecond_ns;  // E + slack of the small options

struct CollectorTest {
  explicit CollectorTest(Options options = testing::small_options(), std::uint64_t region_bytes = 8U << 20)
      : cluster(options, region_bytes), client(cluster.client("c")) {
    REQUIRE(client->connect(testing::hello('a')).ok());
    slot = *client->lease();
    table = *client->create(testing::accounts("accounts"));
    free_bytes = cluster.server->use().free_bytes;
    record = client->allocate(table.id(), 1, false, TestCluster::layout_of(table).ring_slots)->front();
    cluster.insert(table, record, 7, stamp(1));
  }
  Stamp stamp(std::uint32_t counter) const { return {slot.slot(), counter}; }
  void update(std::uint32_t counter, bool deleted = false) {
    cluster.update(table, record, stamp(counter), deleted);
  }
  void publish(std::uint32_t counter) { cluster.publish(slot, counter); }
  void move() { REQUIRE(client->hint(calls::kMoveVersionsMethod, table.id(), {record}).ok()); }
  void note_delete() { REQUIRE(client->hint(calls::kNoteDeletesMethod, table.id(), {record}).ok()); }
  std::vector<Stamp> chain() { return cluster.overflow_chain(table, record); }
  control::StatusReply status() { return cluster.server->status(); }

  TestCluster cluster;
  std::unique_ptr<testing::TestClient> client;
  control::LeaseSlotReply slot;
  control::TableDescriptor table;
  std::uint64_t record = 0;
  std::uint64_t free_bytes = 0;
};

TEST_CASE(
    "of one record the older version goes first, whichever successor is known to be published earlier") {
  Options options = testing::small_options();
  options.server_count = 2;
  options.timestamp_vector = layout::VectorSpread::partitioned;
  TestCluster cluster(options);
  const auto client = cluster.client("c");
  REQUIRE(client->connect(testing::hello('a')).ok());
  const control::LeaseSlotReply here = *client->lease();
  const control::LeaseSlotReply elsewhere = *client->lease();  // its word is on memory server 1
  control::PrepareTableRequest prepare;
  *prepare.mutable_table() = testing::accounts("accounts");
  prepare.mutable_table()->set_id(7);
  prepare.mutable_table()->set_generation(1);
  const auto prepared = client->call<control::PrepareTableReply>(control::PREPARE_TABLE, prepare);
  REQUIRE(prepared.ok());
  control::TableDescriptor table = prepare.table();
  table.add_bucket_base(prepared->bucket_base());
  const std::uint64_t record = client->allocate(table.id(), 1)->front();
  cluster.insert(table, record, 7, {here.slot(), 1});
  cluster.update(table, record, {elsewhere.slot(), 1});
  cluster.update(table, record, {here.slot(), 2});
  cluster.publish(here, 2);
  REQUIRE(client->hint(calls::kMoveVersionsMethod, table.id(), {record}).ok());
  cluster.run_for(3 * kAge_ns);
  // The commit behind the older one is not known to be published, the one behind the newer is.
  CHECK(cluster.overflow_chain(table, record).size() == 2);
  control::HeartbeatRequest heartbeat;
  const layout::HeaderWord copy[] = {layout::HeaderWord({here.slot(), 2}),
                                     layout::HeaderWord({elsewhere.slot(), 1})};
  heartbeat.set_vector_copy(std::string(reinterpret_cast<const char*>(copy), sizeof copy));
  REQUIRE(client->call<control::HeartbeatReply>(control::HEARTBEAT, heartbeat).ok());
  cluster.run_for(kAge_ns + kTick_ns);
  CHECK(cluster.overflow_chain(table, record).empty());
  CHECK(cluster.server->status().versions_collected() == 2);
}

TEST_CASE("a moved version stays until its successor is published and E + slack have passed since") {
  CollectorTest test;
  test.update(2);
  test.update(3);
  test.update(4);
  test.move();
  test.cluster.run_for(3 * kAge_ns);
  CHECK(test.chain().size() == 3);  // nothing is published
  test.publish(2);                  // supersedes version 1
  test.cluster.run_for(kAge_ns - kTick_ns);
  CHECK(test.chain().size() == 3);
  test.cluster.run_for(2 * kTick_ns);
  CHECK(test.chain() == std::vector<Stamp>{test.stamp(3), test.stamp(2)});
  test.publish(4);
  test.cluster.run_for(kAge_ns + kTick_ns);
  CHECK(test.chain().empty());
  CHECK(test.status().overflow_bytes() == 0);
  CHECK(test.status().versions_collected() == 3);
  // The ring can be moved and collected again.
  test.update(5);
  test.publish(5);
  test.move();
  CHECK(test.chain().size() == 1);
  test.cluster.run_for(kAge_ns + kTick_ns);
  CHECK(test.chain().empty());
  test.cluster.world.run_until_idle();
}

TEST_CASE("a version goes before E when every worker acknowledged that none of its snapshots needs it") {
  CollectorTest test;
  const auto other = test.cluster.client("o");
  REQUIRE(other->connect(testing::hello('o')).ok());
  test.update(2);
  test.publish(2);
  test.move();
  test.cluster.run_for(kTick_ns);
  REQUIRE(test.client->acknowledge_all().ok());
  test.cluster.run_for(kTick_ns);
  CHECK(test.chain().size() == 1);
  SECTION("the last one acknowledges") {
    REQUIRE(other->acknowledge_all().ok());
    test.cluster.run_for(kTick_ns);
    CHECK(test.chain().empty());
  }
  SECTION("the last one goes away") {
    other->disconnect();
    test.cluster.run_for(kTick_ns);
    CHECK(test.chain().empty());
  }
  SECTION("what was acknowledged before the version was superseded does not count") {
    REQUIRE(other->acknowledge_all().ok());
    test.cluster.run_for(kTick_ns);
    test.update(3);
    test.move();
    REQUIRE(test.client->acknowledge_all().ok());
    REQUIRE(other->acknowledge_all().ok());
    test.publish(3);
    test.cluster.run_for(kAge_ns - kTick_ns);
    CHECK(test.chain().size() == 1);
  }
}

TEST_CASE("server 1 frees versions by the copies of the vector that heartbeats bring") {
  Options options = testing::small_options();
  options.server_id = 1;
  options.server_count = 2;
  TestCluster cluster(options);
  const auto client = cluster.client("c");
  REQUIRE(client->connect(testing::hello('a')).ok());
  control::TableDescriptor table = testing::accounts("accounts");
  table.set_id(3);
  table.set_generation(1);
  control::PrepareTableRequest prepare;
  *prepare.mutable_table() = table;
  const auto prepared = client->call<control::PrepareTableReply>(control::PREPARE_TABLE, prepare);
  REQUIRE(prepared.ok());
  CHECK(client->lease().status().code() == ErrorCode::protocol_violation);
  const std::uint64_t record =
      client->allocate(table.id(), 1, false, TestCluster::layout_of(table).ring_slots)->front();
  const layout::RecordLayout shape = TestCluster::layout_of(table);

  // A record of this server with one displaced version.
  const layout::GlobalAddress address(1, record);
  const auto framed = cluster.bytes(record, shape.locked_bytes());
  const auto body = framed.subspan(8, shape.body_bytes());
  layout::seal_body(body, address, {.stamp = {20, 1}, .table = table.id()});
  layout::frame_new_record(framed, shape);
  std::memcpy(cluster.bytes(record + shape.ring_payload_offset(1), body.size()).data(), body.data(),
              body.size());
  cluster.store(record + shape.ring_header_offset(1), layout::HeaderWord(Stamp{20, 1}).value());
  layout::seal_body(
      body, address,
      {.stamp = {20, 2}, .displaced = layout::HeaderWord(Stamp{20, 1}), .table = table.id(), .ring_slot = 1});
  cluster.store(record, layout::HeaderWord(Stamp{20, 2}).value());
  REQUIRE(client->hint(calls::kMoveVersionsMethod, table.id(), {record}).ok());
  CHECK(cluster.load(record + layout::overflow_head_offset(shape)) != 0);
  cluster.run_for(3 * kAge_ns);
  CHECK(cluster.load(record + layout::overflow_head_offset(shape)) != 0);

  control::HeartbeatRequest heartbeat;
  std::uint64_t word = layout::HeaderWord(Stamp{20, 1}).value();
  heartbeat.set_vector_copy(&word, 8);
  REQUIRE(client->call<control::HeartbeatReply>(control::HEARTBEAT, heartbeat).ok());
  cluster.run_for(2 * kAge_ns);
  CHECK(cluster.load(record + layout::overflow_head_offset(shape)) != 0);
  SECTION("a copy that covers the successor") {
    word = layout::HeaderWord(Stamp{20, 2}).value();
    heartbeat.set_vector_copy(&word, 8);
  }
  SECTION("a copy in which a later slot has taken the place: the slot is retired") {
    word = layout::HeaderWord(Stamp{21, 0}).value();
    heartbeat.set_vector_copy(&word, 8);
  }
  REQUIRE(client->call<control::HeartbeatReply>(control::HEARTBEAT, heartbeat).ok());
  cluster.run_for(kAge_ns + kTick_ns);
  CHECK(cluster.load(record + layout::overflow_head_offset(shape)) == 0);
}

TEST_CASE("a deleted record leaves its bucket after E + slack, and its memory after all acknowledged") {
  CollectorTest test;
  test.update(2, true);
  test.note_delete();
  test.cluster.run_for(2 * kAge_ns);
  CHECK(test.cluster.lookup(test.table, 7) == test.record);  // not published
  test.publish(2);
  test.cluster.run_for(kAge_ns - kTick_ns);
  CHECK(test.cluster.lookup(test.table, 7) == test.record);
  test.cluster.run_for(2 * kTick_ns);
  CHECK(test.cluster.lookup(test.table, 7) == 0);
  CHECK(test.status().records_reclaimed() == 1);
  // A cached address finds another incarnation, and no stale value can be CASed into the header.
  CHECK(test.cluster.body_certified(test.table, test.record));
  CHECK(test.cluster.body_header(test.record).incarnation == 2);
  const layout::HeaderWord header(test.cluster.load(test.record));
  CHECK(header.locked());
  CHECK(header.stamp().slot == layout::kCollectorSlot);
  // The chain's lock is free, with a stamp that was never there before.
  const std::uint64_t chain_lock =
      test.table.bucket_base(0) +
      layout::bucket_index(layout::hash_key(test.table.id(), std::as_bytes(std::span("\7\0\0\0\0\0\0\0", 8))),
                           4) *
          layout::kBucket_bytes;
  CHECK_FALSE(layout::HeaderWord(test.cluster.load(chain_lock)).locked());
  CHECK(layout::HeaderWord(test.cluster.load(chain_lock)).stamp().slot == layout::kCollectorSlot);

  test.cluster.run_for(5 * kAge_ns);
  CHECK(test.status().tables(0).record_bytes() != 0);  // no acknowledgement: durations do not count
  REQUIRE(test.client->acknowledge_all().ok());
  test.cluster.run_for(kTick_ns);
  CHECK(test.status().tables(0).record_bytes() == 0);
  const auto again = test.client->allocate(test.table.id(), 1);
  REQUIRE(again.ok());
  CHECK(again.value().front() == test.record);
  CHECK(test.cluster.load(test.record) == 0);
  CHECK_FALSE(test.cluster.body_certified(test.table, test.record));
  test.cluster.insert(test.table, test.record, 8, test.stamp(3));
  test.cluster.world.run_until_idle();
}

TEST_CASE("where rows have timestamps, a reclaimed one's are under the floor before it is gone") {
  Options options = testing::small_options();
  options.protocol = "sundial";
  CollectorTest test(options);
  const layout::RecordLayout shape = TestCluster::layout_of(test.table);
  const std::uint64_t timestamp = GENERATE(41, 57);
  const auto body = test.cluster.bytes(test.record + 8, shape.body_bytes());
  layout::seal_body(body, layout::GlobalAddress(0, test.record),
                    {.stamp = test.stamp(2),
                     .deleted = true,
                     .displaced = layout::HeaderWord(timestamp),
                     .table = test.table.id(),
                     .incarnation = 1});
  test.cluster.store(test.record, layout::HeaderWord(test.stamp(2), true).value());
  test.cluster.store(test.record + layout::lease_offset(shape), 50);
  test.publish(2);
  test.note_delete();
  test.cluster.run_for(kAge_ns / 2);
  CHECK(test.cluster.load(layout::kForgottenTimestamp_offset) == 0);
  test.cluster.run_for(kAge_ns);
  CHECK(test.cluster.lookup(test.table, 7) == 0);
  CHECK(test.cluster.load(layout::kForgottenTimestamp_offset) == std::max<std::uint64_t>(timestamp, 50));
}

TEST_CASE("a tombstone that is revived, or held, is not reclaimed") {
  CollectorTest test;
  test.update(2, true);
  test.publish(2);
  test.note_delete();
  test.cluster.run_for(kTick_ns);
  SECTION("revived") {
    test.update(3);
    test.publish(3);
    test.cluster.run_for(2 * kAge_ns);
    CHECK(test.cluster.lookup(test.table, 7) == test.record);
    CHECK(test.cluster.body_header(test.record).incarnation == 1);
    test.cluster.world.run_until_idle();
  }
  SECTION("revived and deleted again: the new tombstone ages by itself") {
    test.cluster.run_for(kAge_ns / 2);
    test.update(3);
    test.update(4, true);
    test.publish(4);
    test.cluster.run_for(kAge_ns);
    CHECK(test.cluster.lookup(test.table, 7) == test.record);
    test.cluster.run_for(kAge_ns);
    CHECK(test.cluster.lookup(test.table, 7) == 0);
  }
  SECTION("its header is locked") {
    const std::uint64_t unlocked = test.cluster.load(test.record);
    test.cluster.store(test.record, layout::HeaderWord(test.stamp(3), false, true).value());
    test.cluster.run_for(2 * kAge_ns);
    CHECK(test.cluster.lookup(test.table, 7) == test.record);
    test.cluster.store(test.record, unlocked);
    test.cluster.run_for(2 * kAge_ns);
    CHECK(test.cluster.lookup(test.table, 7) == 0);
  }
  SECTION("its old versions are still in the overflow region") {
    test.update(3);
    test.update(4, true);
    test.move();
    test.cluster.run_for(3 * kAge_ns);
    CHECK(test.chain().size() >= 1);
    CHECK(test.cluster.lookup(test.table, 7) == test.record);
    test.publish(4);
    test.cluster.run_for(3 * kAge_ns);
    CHECK(test.cluster.lookup(test.table, 7) == 0);
  }
}

TEST_CASE("locks that are in the collector's way are named to the workers until they are gone") {
  CollectorTest test;
  const layout::HeaderWord stranger(Stamp{77, 5}, false, true);
  const auto held = [&] {
    const auto reply =
        test.client->call<control::HeartbeatReply>(control::HEARTBEAT, control::HeartbeatRequest());
    REQUIRE(reply.ok());
    return *reply;
  };
  test.update(2, true);
  test.move();
  test.publish(2);
  test.cluster.run_for(kAge_ns + kTick_ns);  // the version before is collected
  const std::uint64_t tombstone = test.cluster.load(test.record);
  test.cluster.store(test.record, stranger.value());
  test.note_delete();
  test.cluster.run_for(kTick_ns);
  REQUIRE(held().held_locks_size() == 1);
  CHECK(held().held_locks(0).offset() == test.record);
  CHECK(held().held_locks(0).word() == stranger.value());
  CHECK(held().held_locks(0).body_bytes() == TestCluster::layout_of(test.table).body_bytes());
  test.cluster.store(test.record, tombstone);
  CHECK(held().held_locks_size() == 0);

  const std::int64_t key = 7;
  const std::uint64_t hash = layout::hash_key(test.table.id(), std::as_bytes(std::span(&key, 1)));
  const std::uint64_t chain =
      test.table.bucket_base(0) +
      layout::bucket_index(hash, test.table.buckets_per_server()) * layout::kBucket_bytes;
  const std::uint64_t unlocked = test.cluster.load(chain);
  test.cluster.store(chain, stranger.value());
  test.cluster.run_for(kAge_ns + 2 * kTick_ns);
  REQUIRE(held().held_locks_size() == 1);
  CHECK(held().held_locks(0).offset() == chain);
  CHECK(held().held_locks(0).body_bytes() == 0);
  CHECK(test.status().records_reclaimed() == 0);
  test.cluster.store(chain, unlocked);
  test.cluster.run_for(kAge_ns + 2 * kTick_ns);
  CHECK(held().held_locks_size() == 0);
  CHECK(test.status().records_reclaimed() == 1);
}

TEST_CASE("a full region finds tombstones without a note, and deletes make room") {
  CollectorTest test(testing::small_options(), 1U << 20);
  const std::uint32_t record_bytes = TestCluster::layout_of(test.table).record_bytes();
  std::vector<std::uint64_t> records;
  while (true) {
    const auto more = test.client->allocate(test.table.id(), 500);
    if (!more.ok()) break;
    records.insert(records.end(), more.value().begin(), more.value().end());
  }
  CHECK(records.size() * record_bytes > 500'000);
  for (std::int64_t key = 0; key < 8; ++key) {
    test.record = records[static_cast<std::size_t>(key)];
    test.cluster.insert(test.table, test.record, 100 + key, test.stamp(1));
    test.update(2, true);
  }
  test.publish(2);
  CHECK_FALSE(test.client->allocate(test.table.id(), 1).ok());
  test.cluster.run_for(4 * kAge_ns);
  CHECK(test.status().records_reclaimed() == 8);
  REQUIRE(test.client->acknowledge_all().ok());
  test.cluster.run_for(kTick_ns);
  const auto room = test.client->allocate(test.table.id(), 8);
  REQUIRE(room.ok());
  CHECK(room.value().size() == 8);
}

TEST_CASE("hot records neither grow without bound nor lose a version that is needed") {
  CollectorTest test;
  std::uint64_t most = 0;
  for (std::uint32_t counter = 2; counter < 400; ++counter) {
    test.update(counter);
    test.publish(counter);
    if (counter % 3 == 0) {
      test.move();
      most = std::max(most, test.status().overflow_bytes());
    }
    if (counter % 10 == 0) REQUIRE(test.client->acknowledge_all().ok());
    test.cluster.run_for(kMillisecond_ns);
  }
  CHECK(test.status().versions_collected() > 300);
  CHECK(most < 100 * Overflow::entry_bytes(TestCluster::layout_of(test.table).body_bytes()));
}

}  // namespace
}  // namespace namdb::memory
