// Where every byte of the region is, and how full the rings are.
#include "memory/state/accounting.h"

#include <catch2/catch.hpp>
#include <map>

#include "common/calls/hot_calls.h"
#include "common/layout/timestamp_vector.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using testing::hello;
using testing::TestClient;
using testing::TestCluster;

constexpr std::uint64_t kExtent_bytes = 64U << 10;

control::MemoryReply memory_of(TestClient& client) {
  return *client.call<control::MemoryReply>(control::MEMORY, control::MemoryRequest());
}

// The reply's parts add up to the region, and each part's kinds to the part.
void check_sum(const control::MemoryReply& reply) {
  std::uint64_t sum = 0;
  for (const control::MemoryPart& part : reply.parts()) {
    CHECK(part.bytes() == part.used_bytes() + part.reserved_bytes() + part.waiting_bytes() +
                              part.free_bytes() + part.unusable_bytes());
    sum += part.bytes();
  }
  CHECK(sum == reply.region_bytes());
}

control::MemoryPart part_of(const control::MemoryReply& reply, control::MemoryPurpose purpose) {
  control::MemoryPart found;
  for (const control::MemoryPart& part : reply.parts()) {
    if (part.purpose() == purpose) found = part;
  }
  return found;
}

struct Fixture {
  // Extents, and a rest behind the last.
  explicit Fixture(std::uint64_t region_bytes = (2U << 20) + 8000)
      : cluster(testing::small_options(), region_bytes) {
    client = cluster.client("c");
    REQUIRE(client->connect(hello('c')).ok());
    slot = *client->lease();
    REQUIRE(client->open_journal(slot.slot()).ok());
  }
  control::MemoryReply memory() {
    const control::MemoryReply reply = memory_of(*client);
    check_sum(reply);
    return reply;
  }
  void insert(const control::TableDescriptor& table, std::uint64_t record, std::int64_t key) {
    cluster.insert(table, record, key, {slot.slot(), ++counter});
    cluster.publish(slot, counter);
  }
  void update(const control::TableDescriptor& table, std::uint64_t record, bool deleted = false) {
    cluster.update(table, record, {slot.slot(), ++counter}, deleted);
    cluster.publish(slot, counter);
  }

  TestCluster cluster;
  std::unique_ptr<TestClient> client;
  control::LeaseSlotReply slot;
  std::uint32_t counter = 0;
};

TEST_CASE("every byte of the region has one place, whatever it is used for", "[accounting]") {
  Fixture test;
  const auto& map = test.cluster.server->region().map();
  control::MemoryReply reply = test.memory();
  CHECK(reply.region_bytes() == (2U << 20) + 8000);
  CHECK(reply.extent_bytes() == kExtent_bytes);
  CHECK(part_of(reply, control::MEMORY_REGION_MAP).used_bytes() == layout::kRegionMap_bytes);
  CHECK(part_of(reply, control::MEMORY_TIMESTAMP_VECTOR).bytes() ==
        layout::vector_bytes(map.vector_capacity));
  CHECK(part_of(reply, control::MEMORY_TIMESTAMP_VECTOR).used_bytes() == layout::vector_bytes(1));
  CHECK(part_of(reply, control::MEMORY_ALIGNMENT).unusable_bytes() ==
        kExtent_bytes - layout::kRegionMap_bytes - layout::vector_bytes(map.vector_capacity) + 8000);
  CHECK(part_of(reply, control::MEMORY_JOURNALS).used_bytes() == 2 * kExtent_bytes);
  CHECK(part_of(reply, control::MEMORY_FREE_EXTENTS).free_bytes() == reply.free_extents() * kExtent_bytes);

  const control::TableDescriptor table = *test.client->create(testing::accounts("accounts", 3));
  const std::uint64_t record_bytes = TestCluster::layout_of(table).record_bytes();
  const auto records = *test.client->allocate(table.id(), 10);
  REQUIRE(test.client->allocate(table.id(), 2, true).ok());
  for (std::size_t i = 0; i < 4; ++i) test.insert(table, records[i], static_cast<std::int64_t>(i));
  reply = test.memory();
  const control::MemoryPart main = part_of(reply, control::MEMORY_MAIN_BUCKETS);
  CHECK(main.name() == "accounts");
  CHECK(main.used_bytes() == 3 * layout::kBucket_bytes);
  CHECK(main.unusable_bytes() == BuddyAllocator::kSmallest_bytes - 3 * layout::kBucket_bytes);
  CHECK(part_of(reply, control::MEMORY_INDIRECT_BUCKETS).reserved_bytes() == 2 * layout::kBucket_bytes);
  const control::MemoryPart used = part_of(reply, control::MEMORY_RECORDS);
  CHECK(used.used_bytes() == 4 * record_bytes);
  CHECK(used.reserved_bytes() == 6 * record_bytes);
  CHECK(used.unusable_bytes() == used.bytes() % record_bytes);
}

TEST_CASE("old versions are live, then wait, then are free; deleted records and dropped tables wait, too",
          "[accounting]") {
  Fixture test;
  const control::TableDescriptor table = *test.client->create(testing::accounts("accounts"));
  const std::uint64_t record_bytes = TestCluster::layout_of(table).record_bytes();
  const std::uint32_t entry_bytes = Overflow::entry_bytes(TestCluster::layout_of(table).body_bytes());
  const std::uint64_t record = test.client->allocate(table.id(), 1)->front();
  test.insert(table, record, 1);
  for (int i = 0; i < 3; ++i) test.cluster.update(table, record, {test.slot.slot(), ++test.counter});
  REQUIRE(test.client->hint(calls::kMoveVersionsMethod, table.id(), {record}).ok());
  control::MemoryPart overflow = part_of(test.memory(), control::MEMORY_OVERFLOW);
  CHECK(overflow.used_bytes() == 3 * entry_bytes);
  CHECK(overflow.waiting_bytes() == 0);
  test.cluster.publish(test.slot, test.counter);
  test.cluster.run_for(10 * kMillisecond_ns);
  overflow = part_of(test.memory(), control::MEMORY_OVERFLOW);
  CHECK(overflow.used_bytes() == 0);
  CHECK(overflow.waiting_bytes() == 3 * entry_bytes);
  REQUIRE(test.client->acknowledge_all().ok());
  test.cluster.run_for(10 * kMillisecond_ns);
  CHECK(part_of(test.memory(), control::MEMORY_OVERFLOW).bytes() == 0);

  test.update(table, record, true);
  REQUIRE(test.client->hint(calls::kMoveVersionsMethod, table.id(), {record}).ok());
  REQUIRE(test.client->hint(calls::kNoteDeletesMethod, table.id(), {record}).ok());
  // Versions are acknowledged and the record is unlinked, but its reuse is not.
  control::HeartbeatRequest heartbeat;
  for (int i = 0; i < 20; ++i) {
    test.cluster.run_for(10 * kMillisecond_ns);
    const auto reply = test.client->call<control::HeartbeatReply>(control::HEARTBEAT, heartbeat);
    REQUIRE(reply.ok());
    heartbeat.set_acknowledged_versions(reply->version_epoch());
  }
  control::MemoryPart records = part_of(test.memory(), control::MEMORY_RECORDS);
  CHECK(records.waiting_bytes() == record_bytes);
  CHECK(records.used_bytes() == 0);

  control::DropTableRequest drop;
  drop.set_name("accounts");
  const auto dropped = test.client->call<control::DropTableReply>(control::DROP_TABLE, drop);
  REQUIRE(dropped.ok());
  control::DiscardTableRequest discard;
  discard.set_table(table.id());
  REQUIRE(test.client->call<control::DiscardTableReply>(control::DISCARD_TABLE, discard).ok());
  const control::MemoryPart main = part_of(test.memory(), control::MEMORY_MAIN_BUCKETS);
  CHECK(main.dropped());
  CHECK(main.waiting_bytes() == 4 * layout::kBucket_bytes);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(test.client->acknowledge_all().ok());
    test.cluster.run_for(10 * kMillisecond_ns);
  }
  const control::MemoryReply reply = test.memory();
  CHECK(part_of(reply, control::MEMORY_MAIN_BUCKETS).bytes() == 0);
  CHECK(part_of(reply, control::MEMORY_RECORDS).bytes() == 0);
}

TEST_CASE("a journal has its place while it is cleared and while it is used", "[accounting]") {
  Fixture test;
  const std::uint64_t journal_bytes = 2 * kExtent_bytes;
  const auto other = test.cluster.client("d");
  REQUIRE(other->connect(hello('d')).ok());
  for (int round = 0; round < 2;
       ++round) {  // the second time the extents are dirty: they are cleared in steps
    const std::uint32_t slot = other->lease()->slot();
    REQUIRE(other->open_journal(slot).ok());
    CHECK(part_of(test.memory(), control::MEMORY_JOURNALS).used_bytes() == 2 * journal_bytes);
    calls::CloseJournalRequest close_journal;
    close_journal.slot = slot;
    REQUIRE(other->call(calls::kCloseJournalMethod, calls::encode(close_journal)).ok());
    control::CloseSlotRequest close;
    close.set_slot(slot);
    REQUIRE(other->call<control::CloseSlotReply>(control::CLOSE_SLOT, close).ok());
    CHECK(part_of(test.memory(), control::MEMORY_JOURNALS).bytes() == journal_bytes);
  }
}

control::Backlog backlog_of(TestClient& client, std::uint32_t sample) {
  control::StatusRequest request;
  request.set_sample_records(sample);
  return client.call<control::StatusReply>(control::STATUS, request)->backlog();
}

TEST_CASE("a sample of the rings goes on where the last one ended, and looks at no record twice",
          "[accounting]") {
  Fixture test;
  const control::TableDescriptor first = *test.client->create(testing::accounts("first"));
  const control::TableDescriptor second = *test.client->create(testing::accounts("second", 4, 2));
  std::int64_t key = 0;
  const auto firsts = *test.client->allocate(first.id(), 5);
  const auto seconds = *test.client->allocate(second.id(), 2, false, 2);
  for (const std::uint64_t record : firsts) test.insert(first, record, key++);
  for (const std::uint64_t record : seconds) {
    test.insert(second, record, key++);
    test.update(second, record);
  }
  REQUIRE(test.client->allocate(first.id(), 3).ok());  // reserved: no rings yet
  control::Backlog all = backlog_of(*test.client, 1000);
  CHECK(all.sampled_records() == 7);
  CHECK(all.sampled_ring_slots() == 5 * 4 + 2 * 2);
  CHECK(all.unmoved_ring_slots() == 2);
  std::uint64_t slots = 0;
  std::uint64_t unmoved = 0;
  for (int i = 0; i < 7; ++i) {
    const control::Backlog one = backlog_of(*test.client, 1);
    CHECK(one.sampled_records() == 1);
    slots += one.sampled_ring_slots();
    unmoved += one.unmoved_ring_slots();
  }
  CHECK(slots == 5 * 4 + 2 * 2);
  CHECK(unmoved == 2);
  CHECK(backlog_of(*test.client, 0).sampled_records() == 0);
}

TEST_CASE("the backlog is counted, and the oldest snapshot ages while its worker is silent", "[accounting]") {
  Fixture test;
  const control::TableDescriptor table = *test.client->create(testing::accounts("accounts"));
  const std::uint64_t record = test.client->allocate(table.id(), 1)->front();
  test.insert(table, record, 1);
  test.update(table, record);
  REQUIRE(test.client->hint(calls::kMoveVersionsMethod, table.id(), {record}).ok());
  test.cluster.run_for(10 * kMillisecond_ns);
  control::Backlog backlog = backlog_of(*test.client, 0);
  CHECK(backlog.live_versions() == 0);
  CHECK(backlog.aging_versions() == 1);
  CHECK(backlog.aging_ns() > 0);
  CHECK(backlog.aging_ns() < 20 * kMillisecond_ns);
  CHECK(backlog.oldest_snapshot_ns() == 0);
  control::HeartbeatRequest heartbeat;
  heartbeat.set_oldest_snapshot_ns(7 * kMillisecond_ns);
  REQUIRE(test.client->call<control::HeartbeatReply>(control::HEARTBEAT, heartbeat).ok());
  test.cluster.run_for(10 * kMillisecond_ns);
  CHECK(backlog_of(*test.client, 0).oldest_snapshot_ns() >= 17 * kMillisecond_ns);
}

TEST_CASE("of very many tables the largest are listed, and the sums have the others") {
  constexpr int kTables = 4200;  // a few more than a reply lists
  Fixture test((32U << 20) + 8000);
  const auto large = test.client->create(testing::accounts("large", 64));
  REQUIRE(large.ok());
  for (int i = 0; i < kTables; ++i)
    REQUIRE(test.client->create(testing::accounts("t" + std::to_string(i), 1)).ok());
  const auto status = test.client->call<control::StatusReply>(control::STATUS, control::StatusRequest());
  REQUIRE(status.ok());
  CHECK(status->tables_size() == 4096);
  CHECK(status->other_tables() == kTables + 1 - 4096);
  CHECK(status->other_table_bytes() != 0);
  CHECK(status->tables(0).name() == "large");
  for (int i = 1; i < status->tables_size(); ++i) CHECK(status->tables(i - 1).id() < status->tables(i).id());
  const control::MemoryReply memory = test.memory();
  CHECK(memory.parts_size() <= 4096 + 16);
  std::uint64_t merged = 0;
  bool has_large = false;
  for (const control::MemoryPart& part : memory.parts()) {
    merged += part.merged();
    has_large |= part.name() == "large";
  }
  CHECK(merged > 0);
  CHECK(has_large);
}

}  // namespace
}  // namespace namdb::memory
