#include "memory/coordinator/slots.h"

#include <catch2/catch.hpp>
#include <optional>

#include "common/calls/hot_calls.h"
#include "common/layout/timestamp_vector.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using testing::hello;
using testing::TestClient;
using testing::TestCluster;

control::Slot state_of(TestClient& client, std::uint32_t slot) {
  control::ListSlotsRequest request;
  request.add_slots(slot);
  const auto reply = client.call<control::ListSlotsReply>(control::LIST_SLOTS, request);
  REQUIRE(reply.ok());
  REQUIRE(reply.value().slots_size() == 1);
  return reply.value().slots(0);
}

Status close(TestClient& client, std::uint32_t slot, std::uint32_t final_counter) {
  control::CloseSlotRequest request;
  request.set_slot(slot);
  request.set_final_counter(final_counter);
  const auto reply = client.call<control::CloseSlotReply>(control::CLOSE_SLOT, request);
  return reply.ok() ? Status() : reply.status();
}

TEST_CASE("a leased slot stands in the vector before the reply") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const auto slot = client->lease();
  REQUIRE(slot.ok());
  const std::uint64_t vector = cluster.server->region().map().vector_offset;
  CHECK(slot.value().slot() >= layout::kFirstLeasedSlot);
  CHECK(slot.value().first_counter() == 1);
  CHECK(cluster.load(vector + layout::kVectorLength_offset) == slot.value().vector_position() + 1);
  CHECK(layout::HeaderWord(
            cluster.load(vector + layout::kVectorWords_offset + 8 * slot.value().vector_position()))
            .stamp() == layout::Stamp{slot.value().slot(), 0});
  CHECK(state_of(*client, slot.value().slot()).state() == control::SLOT_LEASED);
}

TEST_CASE("a closed slot keeps its position until E + slack, and its final counter for ever") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const auto first = client->lease();
  REQUIRE(first.ok());
  cluster.publish(first.value(), 5);
  CHECK(close(*client, first.value().slot(), 4).code() == ErrorCode::protocol_violation);
  REQUIRE(close(*client, first.value().slot(), 5).ok());
  CHECK(close(*client, first.value().slot(), 5).code() == ErrorCode::undefined_object);
  CHECK(state_of(*client, first.value().slot()).state() == control::SLOT_CLOSED);
  const auto second = client->lease();
  REQUIRE(second.ok());
  CHECK(second.value().vector_position() != first.value().vector_position());
  cluster.run_for(100 * kMillisecond_ns);
  CHECK(state_of(*client, first.value().slot()).state() == control::SLOT_CLOSED);
  cluster.run_for(20 * kMillisecond_ns);
  const control::Slot retired = state_of(*client, first.value().slot());
  CHECK(retired.state() == control::SLOT_RETIRED);
  CHECK(retired.final_counter() == 5);
  const auto third = client->lease();
  REQUIRE(third.ok());
  CHECK(third.value().slot() > second.value().slot());
  CHECK(third.value().vector_position() == first.value().vector_position());
}

TEST_CASE("slots are bounded by the vector and by the channel") {
  Options options = testing::small_options();
  options.vector_capacity = 3;
  options.max_slots_per_peer = 2;
  TestCluster cluster(options);
  const auto a = cluster.client("a");
  const auto b = cluster.client("b");
  REQUIRE(a->connect(hello('a')).ok());
  REQUIRE(b->connect(hello('b')).ok());
  const std::uint64_t free_bytes = cluster.server->use().free_bytes;
  REQUIRE(a->lease().ok());
  REQUIRE(a->lease().ok());
  CHECK(a->lease().status().code() == ErrorCode::limit_exceeded);
  REQUIRE(b->lease().ok());
  CHECK(b->lease().status().code() == ErrorCode::limit_exceeded);
  // A slot has no journal before it logs.
  CHECK(cluster.server->use().free_bytes == free_bytes);
}

TEST_CASE(
    "a slot whose owner is gone is closed with what the vector shows, when nothing of it is undecided") {
  TestCluster cluster;
  const auto owner = cluster.client("o");
  const auto other = cluster.client("p");
  REQUIRE(owner->connect(hello('o')).ok());
  REQUIRE(other->connect(hello('p')).ok());
  const auto slot = owner->lease();
  REQUIRE(slot.ok());
  const std::uint32_t id = slot.value().slot();
  cluster.publish(slot.value(), 9);
  CHECK(cluster.server->slots()->decided_count() == 0);
  owner->disconnect();
  cluster.run_for(10 * kMillisecond_ns);
  const control::Slot closed = state_of(*other, id);
  CHECK(closed.state() == control::SLOT_CLOSED);
  CHECK(closed.final_counter() == 9);
  CHECK(cluster.server->slots()->decided_count() == 1);
  CHECK(cluster.server->slots()->dead_count() == 0);
  cluster.run_for(200 * kMillisecond_ns);
  CHECK(state_of(*other, id).state() == control::SLOT_RETIRED);
}

TEST_CASE("positions at the vector's end leave it when their slots are retired, but for the latest slot's") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const std::uint64_t vector = cluster.server->region().map().vector_offset;
  const auto length = [&] { return cluster.load(vector + layout::kVectorLength_offset); };
  const auto word = [&](std::uint64_t position) {
    return cluster.load(vector + layout::kVectorWords_offset + 8 * position);
  };
  std::vector<control::LeaseSlotReply> slots;
  for (int i = 0; i < 5; ++i) slots.push_back(*client->lease());
  CHECK(length() == 5);
  for (const int i : {1, 3, 4}) REQUIRE(close(*client, slots[i].slot(), 0).ok());
  cluster.run_for(50 * kMillisecond_ns);
  CHECK(length() == 5);
  cluster.run_for(150 * kMillisecond_ns);
  CHECK(length() == 5);  // the last is that of the latest slot
  const auto next = *client->lease();
  CHECK(next.vector_position() == 1);
  CHECK(length() == 3);
  CHECK(word(3) == 0);
  CHECK(word(4) == 0);
  REQUIRE(client->lease().ok());
  CHECK(length() == 4);
}

Options part(std::uint16_t server_id) {
  Options options = testing::small_options();
  options.server_id = server_id;
  options.server_count = 2;
  options.timestamp_vector = layout::VectorSpread::partitioned;
  return options;
}

std::string words(const std::vector<layout::Stamp>& stamps) {
  std::string bytes;
  for (const layout::Stamp& stamp : stamps) {
    const std::uint64_t word = layout::HeaderWord(stamp).value();
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return bytes;
}

TEST_CASE("where the vector is partitioned, server 0 has the words of its positions and learns the others") {
  TestCluster cluster(part(0));
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  CHECK(client->welcome().timestamp_vector() == "partitioned");
  const std::uint64_t vector = cluster.server->region().map().vector_offset;
  const auto length = [&] { return cluster.load(vector + layout::kVectorLength_offset); };
  const auto word = [&](std::uint64_t index) {
    return layout::HeaderWord(cluster.load(vector + layout::kVectorWords_offset + 8 * index)).stamp();
  };
  std::vector<control::LeaseSlotReply> slots;
  for (std::uint64_t i = 0; i < 3; ++i) {
    slots.push_back(*client->lease());
    CHECK(slots[i].vector_position() == i);
    CHECK(slots[i].vector_length() == i + 1);
  }
  CHECK(length() == 2);
  CHECK(word(0) == layout::Stamp{slots[0].slot(), 0});
  CHECK(word(1) == layout::Stamp{slots[2].slot(), 0});
  // A copy of a part is not a snapshot.
  CHECK(client->call(calls::kSnapshotMethod, "").status().code() == ErrorCode::protocol_violation);

  const Slots& known = *cluster.server->slots();
  const layout::Stamp commit{slots[1].slot(), 7};
  CHECK_FALSE(known.published(commit));
  control::HeartbeatRequest heartbeat;
  // Not placed yet when the copy was taken, as the worker that sends it knows.
  heartbeat.set_vector_copy(words({{slots[0].slot(), 0}, {slots[2].slot(), 0}, {slots[1].slot(), 0}}));
  REQUIRE(client->call<control::HeartbeatReply>(control::HEARTBEAT, heartbeat).ok());
  CHECK_FALSE(known.published(commit));
  heartbeat.set_vector_copy(words({{slots[0].slot(), 0}, {slots[1].slot(), 7}, {slots[2].slot(), 0}}));
  REQUIRE(client->call<control::HeartbeatReply>(control::HEARTBEAT, heartbeat).ok());
  CHECK(known.published(commit));
  CHECK_FALSE(known.published({slots[1].slot(), 8}));
  REQUIRE(close(*client, slots[1].slot(), 9).ok());
  CHECK(known.published({slots[1].slot(), 9}));

  // Its position is leased again, and counts no more once no slot has it.
  cluster.run_for(120 * kMillisecond_ns);
  const auto again = client->lease();
  REQUIRE(again.ok());
  CHECK(again->vector_position() == 1);
  CHECK(length() == 2);
  CHECK(known.published({slots[1].slot(), 9}));
}

TEST_CASE("a slot is placed on its own server, where no older slot and no older counter may stand again") {
  TestCluster cluster(part(1));
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const std::uint64_t vector = cluster.server->region().map().vector_offset;
  REQUIRE(vector != 0);
  const auto length = [&] { return cluster.load(vector + layout::kVectorLength_offset); };
  const auto word = [&](std::uint64_t index) {
    return layout::HeaderWord(cluster.load(vector + layout::kVectorWords_offset + 8 * index)).stamp();
  };
  // Why not; nullopt: it is.
  const auto place = [&](TestClient& by, std::uint32_t slot, std::uint64_t position, std::uint32_t counter,
                         std::uint64_t vector_length = 0) -> std::optional<ErrorCode> {
    control::PlaceSlotRequest request;
    request.set_slot(slot);
    request.set_vector_position(position);
    request.set_counter(counter);
    request.set_vector_length(vector_length);
    const auto reply = by.call<control::PlaceSlotReply>(control::PLACE_SLOT, request);
    if (reply.ok()) return std::nullopt;
    return reply.status().code();
  };
  constexpr std::nullopt_t kPlaced = std::nullopt;
  CHECK(place(*client, 20, 1, 0) == kPlaced);
  CHECK(length() == 1);
  CHECK(place(*client, 21, 7, 0) == kPlaced);
  CHECK(length() == 4);
  CHECK(word(0) == layout::Stamp{20, 0});
  CHECK(word(3) == layout::Stamp{21, 0});
  CHECK(place(*client, 20, 1, 5) == kPlaced);
  CHECK(place(*client, 20, 1, 5) == kPlaced);
  CHECK(place(*client, 20, 1, 4) == ErrorCode::protocol_violation);
  CHECK(place(*client, 19, 1, 9) == ErrorCode::protocol_violation);
  CHECK(word(0) == layout::Stamp{20, 5});
  CHECK(place(*client, 30, 0, 0) == ErrorCode::protocol_violation);   // server 0's
  CHECK(place(*client, 30, 17, 0) == ErrorCode::protocol_violation);  // room for 16 positions
  CHECK(place(*client, layout::kFirstLeasedSlot - 1, 3, 0) == ErrorCode::protocol_violation);
  CHECK(place(*client, layout::kMaxSlot + 1, 3, 0) == ErrorCode::protocol_violation);
  const auto tool = cluster.client("t");
  REQUIRE(tool->connect(hello('t', true)).ok());
  CHECK(place(*tool, 30, 3, 0) == ErrorCode::insufficient_privilege);
  CHECK(length() == 4);
  // Server 0, for a slot whose owner died, does not know what stands here.
  const auto decider = cluster.client("m");
  REQUIRE(decider->connect(testing::hello_of_memory_server('m')).ok());
  CHECK(place(*decider, 20, 1, 4) == kPlaced);
  CHECK(word(0) == layout::Stamp{20, 5});
  CHECK(place(*decider, 19, 1, 9) == ErrorCode::protocol_violation);

  // The slots that it was leased behind are retired, except a later one, whose own lease came behind.
  CHECK(place(*client, 23, 5, 0) == kPlaced);
  CHECK(place(*client, 22, 1, 0, 2) == kPlaced);
  CHECK(length() == 3);
  CHECK(word(0) == layout::Stamp{22, 0});
  CHECK(word(2) == layout::Stamp{23, 0});
  CHECK(word(3).none());
  CHECK(place(*client, 24, 3, 0, 4) == kPlaced);
  CHECK(length() == 2);
  // Closing one takes nothing away.
  CHECK(place(*client, 22, 1, 8) == kPlaced);
  CHECK(length() == 2);

  TestCluster whole;
  const auto other = whole.client("o");
  REQUIRE(other->connect(hello('o')).ok());
  CHECK(other->welcome().timestamp_vector() == "whole");
  CHECK(place(*other, 30, 1, 0) == ErrorCode::protocol_violation);
}

TEST_CASE("unused reservations of a dead compute server come back once its slots are closed") {
  TestCluster cluster;
  const auto owner = cluster.client("o");
  const auto other = cluster.client("p");
  REQUIRE(owner->connect(hello('o')).ok());
  REQUIRE(other->connect(hello('p')).ok());
  const auto slot = owner->lease();
  REQUIRE(slot.ok());
  const auto table = other->create(testing::accounts("accounts"));
  REQUIRE(table.ok());
  const std::uint32_t id = table.value().id();
  const auto records = owner->allocate(id, 10);
  REQUIRE(records.ok());
  REQUIRE(owner->allocate(id, 3, true).ok());
  const auto kept = other->allocate(id, 2);
  REQUIRE(kept.ok());
  cluster.insert(table.value(), records.value()[4], 1, {slot.value().slot(), 1});
  const std::uint64_t record_bytes = TestCluster::layout_of(table.value()).record_bytes();
  const auto record_use = [&] { return cluster.server->status().tables(0).record_bytes(); };
  CHECK(record_use() == 12 * record_bytes);
  cluster.publish(slot.value(), 1);
  owner->disconnect();
  cluster.run_for(50 * kMillisecond_ns);
  CHECK(record_use() == 3 * record_bytes);  // the one in use, and the other worker's two
  CHECK(cluster.server->status().tables(0).bucket_bytes() == 4 * layout::kBucket_bytes);
  CHECK(cluster.lookup(table.value(), 1) == records.value()[4]);
}

TEST_CASE("memory that went on to another compute server is not taken from it") {
  TestCluster cluster;
  const auto first = cluster.client("f");
  const auto second = cluster.client("s");
  REQUIRE(first->connect(hello('f')).ok());
  REQUIRE(second->connect(hello('s')).ok());
  const auto table = first->create(testing::accounts("accounts"));
  REQUIRE(table.ok());
  const auto slot = second->lease();
  REQUIRE(slot.ok());
  const std::uint64_t record = first->allocate(table.value().id(), 1)->front();
  // Used, deleted, reclaimed, and granted again.
  cluster.insert(table.value(), record, 1, {slot.value().slot(), 1});
  cluster.update(table.value(), record, {slot.value().slot(), 2}, true);
  cluster.publish(slot.value(), 2);
  REQUIRE(second->hint(calls::kNoteDeletesMethod, table.value().id(), {record}).ok());
  for (int i = 0; i < 30; ++i) {
    cluster.run_for(10 * kMillisecond_ns);
    REQUIRE(first->acknowledge_all().ok());
    REQUIRE(second->acknowledge_all().ok());
  }
  REQUIRE(second->allocate(table.value().id(), 1)->front() == record);
  first->disconnect();
  cluster.run_for(50 * kMillisecond_ns);
  CHECK(second->allocate(table.value().id(), 1)->front() != record);
}

}  // namespace
}  // namespace namdb::memory
