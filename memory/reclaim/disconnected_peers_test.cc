// Compute servers that went away without a word, as memory servers other than 0 see them.
#include "memory/reclaim/disconnected_peers.h"

#include <catch2/catch.hpp>

#include "common/calls/hot_calls.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using testing::hello;
using testing::TestClient;
using testing::TestCluster;

Options server_one() {
  Options options = testing::small_options();
  options.server_id = 1;
  options.server_count = 2;
  return options;
}

control::TableDescriptor prepare(TestClient& client) {
  control::PrepareTableRequest request;
  *request.mutable_table() = testing::accounts("accounts");
  request.mutable_table()->set_id(7);
  request.mutable_table()->set_generation(1);
  REQUIRE(client.call<control::PrepareTableReply>(control::PREPARE_TABLE, request).ok());
  return request.table();
}

control::HeartbeatReply beat(TestClient& client, bool leaving = false) {
  control::HeartbeatRequest request;
  request.set_leaving(leaving);
  const auto reply = client.call<control::HeartbeatReply>(control::HEARTBEAT, request);
  REQUIRE(reply.ok());
  return *reply;
}

void settle(TestClient& client, char id) {
  control::SettleDepartedRequest request;
  request.add_compute_ids(testing::compute_id(id));
  REQUIRE(client.call<control::SettleDepartedReply>(control::SETTLE_DEPARTED, request).ok());
}

TEST_CASE("a departed compute server's reservations are free when a worker says that it has ended",
          "[disconnected_peers]") {
  TestCluster cluster(server_one());
  const auto dead = cluster.client("d");
  const auto live = cluster.client("l");
  REQUIRE(dead->connect(hello('d')).ok());
  REQUIRE(live->connect(hello('l')).ok());
  const control::TableDescriptor table = prepare(*live);
  const std::uint64_t record_bytes = TestCluster::layout_of(table).record_bytes();
  REQUIRE(dead->allocate(table.id(), 5).ok());
  REQUIRE(live->allocate(table.id(), 2).ok());
  const auto record_use = [&] { return cluster.server->status().tables(0).record_bytes(); };
  settle(*live, 'd');  // it is still here
  CHECK(record_use() == 7 * record_bytes);
  CHECK(beat(*live).departed_size() == 0);

  dead->disconnect();
  cluster.run_for(50 * kMillisecond_ns);
  CHECK(record_use() == 7 * record_bytes);
  REQUIRE(beat(*live).departed_size() == 1);
  CHECK(beat(*live).departed(0) == testing::compute_id('d'));
  settle(*live, 'd');
  CHECK(record_use() == 2 * record_bytes);
  CHECK(beat(*live).departed_size() == 0);
  settle(*live, 'd');
  settle(*live, 'x');
  CHECK(record_use() == 2 * record_bytes);
}

TEST_CASE("a worker that leaves cleanly, and has returned its reservations, is not named",
          "[disconnected_peers]") {
  TestCluster cluster(server_one());
  const auto first = cluster.client("f");
  const auto second = cluster.client("s");
  REQUIRE(first->connect(hello('f')).ok());
  REQUIRE(second->connect(hello('s')).ok());
  const control::TableDescriptor table = prepare(*second);
  const auto records = first->allocate(table.id(), 1);
  REQUIRE(records.ok());
  SECTION("with all returned") {
    control::ReturnMemoryRequest request;
    request.set_table(table.id());
    control::Range& range = *request.add_ranges();
    range.set_offset(records->front());
    range.set_length_bytes(TestCluster::layout_of(table).record_bytes());
    REQUIRE(first->call<control::ReturnMemoryReply>(control::RETURN_MEMORY, request).ok());
    beat(*first, true);
    first->disconnect();
    cluster.run_for(50 * kMillisecond_ns);
    CHECK(beat(*second).departed_size() == 0);
    CHECK(cluster.server->status().tables(0).record_bytes() == 0);
  }
  SECTION("with something kept") {
    beat(*first, true);
    first->disconnect();
    cluster.run_for(50 * kMillisecond_ns);
    CHECK(beat(*second).departed_size() == 1);
  }
}

TEST_CASE("server 0 names the compute servers that have ended: no channel is left and every slot is closed",
          "[disconnected_peers]") {
  // Another memory server, which cannot be reached, keeps the slot from being closed.
  const SlotState state_afterwards = GENERATE(SlotState::closed, SlotState::dead);
  Options options = testing::small_options();
  options.server_count = state_afterwards == SlotState::closed ? 1 : 2;
  TestCluster cluster(options);
  const auto dead = cluster.client("d");
  const auto live = cluster.client("l");
  REQUIRE(dead->connect(hello('d')).ok());
  REQUIRE(live->connect(hello('l')).ok());
  const auto slot = dead->lease();
  REQUIRE(slot.ok());
  const auto has_ended = [&](char id) {
    control::EndedComputesRequest request;
    request.add_compute_ids(testing::compute_id(id));
    return live->call<control::EndedComputesReply>(control::ENDED_COMPUTES, request)->compute_ids_size() == 1;
  };
  CHECK_FALSE(has_ended('d'));
  CHECK_FALSE(has_ended('l'));
  CHECK(has_ended('x'));
  dead->disconnect();
  cluster.run_for(50 * kMillisecond_ns);
  CHECK(cluster.server->slots()->find(slot->slot())->state == state_afterwards);
  CHECK(has_ended('d') == (state_afterwards == SlotState::closed));
  control::SettleDepartedRequest settle;  // server 0 needs no worker's word
  CHECK(live->call<control::SettleDepartedReply>(control::SETTLE_DEPARTED, settle).status().code() ==
        ErrorCode::protocol_violation);
}

TEST_CASE("deleted records that a dead compute server did not note are found", "[disconnected_peers]") {
  TestCluster cluster;
  const auto dead = cluster.client("d");
  const auto live = cluster.client("l");
  REQUIRE(dead->connect(hello('d')).ok());
  REQUIRE(live->connect(hello('l')).ok());
  const auto slot = live->lease();
  REQUIRE(slot.ok());
  const control::TableDescriptor table = *live->create(testing::accounts("accounts"));
  const std::uint64_t record = live->allocate(table.id(), 1)->front();
  cluster.insert(table, record, 1, {slot->slot(), 1});
  cluster.update(table, record, {slot->slot(), 2}, true);
  cluster.publish(*slot, 2);
  const auto settle_down = [&] {
    for (int i = 0; i < 30; ++i) {
      cluster.run_for(10 * kMillisecond_ns);
      REQUIRE(live->acknowledge_all().ok());
      // The version before the tombstone has to leave the ring's chain first.
      REQUIRE(live->hint(calls::kMoveVersionsMethod, table.id(), {record}).ok());
    }
  };
  settle_down();
  CHECK(cluster.server->status().records_reclaimed() == 0);
  dead->disconnect();
  settle_down();
  CHECK(cluster.server->status().records_reclaimed() == 1);
}

}  // namespace
}  // namespace namdb::memory
