// OPEN_JOURNAL, FLUSH, CLOSE_JOURNAL and rooms of streams over the fabric: the owner's rights, and the ends
// of slots and channels.
#include <catch2/catch.hpp>
#include <cstring>

#include "common/calls/journal_calls.h"
#include "memory/journals/testing/journal_owner.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using testing::hello;
using testing::JournalOwner;
using testing::TestClient;
using testing::TestCluster;

Result<calls::OpenJournalReply> open_journal_of(TestClient& client, std::uint32_t slot) {
  const auto reply = client.call(calls::kOpenJournalMethod, calls::encode(calls::OpenJournalRequest{slot}));
  if (!reply.ok()) return reply.status();
  const auto opened = calls::decode_open_journal_reply(*reply, 8U << 20);
  REQUIRE(opened.has_value());
  return *opened;
}

Result<calls::FlushReply> flush_journal_of(TestClient& client, std::uint32_t slot, std::uint64_t position,
                                           std::uint32_t through = 0) {
  const calls::FlushRequest request{slot, position, through};
  const auto reply = client.call(calls::kFlushMethod, calls::encode(request));
  if (!reply.ok()) return reply.status();
  const auto flushed = calls::decode_flush_reply(*reply);
  REQUIRE(flushed.has_value());
  return *flushed;
}

Status close_journal_of(TestClient& client, std::uint32_t slot, std::uint32_t through) {
  const calls::CloseJournalRequest request{slot, through};
  return client.call(calls::kCloseJournalMethod, calls::encode(request)).status();
}

std::uint64_t journals_account(const TestCluster& cluster) {
  std::uint64_t bytes = 0;
  std::uint64_t all_bytes = 0;
  const control::MemoryReply account = cluster.server->memory();
  for (const control::MemoryPart& part : account.parts()) {
    if (part.purpose() == control::MEMORY_JOURNALS) bytes += part.bytes();
    all_bytes += part.bytes();
  }
  CHECK(all_bytes == cluster.server->region().bytes());
  CHECK(cluster.server->use().journal_bytes == bytes);
  return bytes;
}

reactor::Task<Status> post_writes(fabric::Channel* channel, fabric::Batch* batch) {
  channel->post(*batch);
  co_await batch->done();
  co_return batch->status();
}

}  // namespace

TEST_CASE("an owner opens its journal, WRITEs entries, flushes them and closes it") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const auto slot = client->lease();
  REQUIRE(slot.ok());
  const std::uint64_t before_bytes = journals_account(cluster);
  const auto opened = open_journal_of(*client, slot->slot());
  REQUIRE(opened.ok());
  CHECK(opened->ring_bytes == 128U << 10);
  CHECK(journals_account(cluster) == before_bytes + opened->ring_bytes);

  // The entry is made in a ring of the test's own, and goes over the fabric.
  testing::JournalRegion scratch;
  JournalOwner owner(*scratch.region, slot->slot(), 4096, opened->ring_bytes);
  const auto part = owner.place(1, 64);
  const fabric::LocalBuffer buffer(client->channel().pool(), part.bytes.size());
  std::memcpy(buffer.data(), part.bytes.data(), part.bytes.size());
  fabric::Batch batch;
  batch.write(opened->ring_offset, buffer.data(), static_cast<std::uint32_t>(part.bytes.size()));
  REQUIRE(cluster.world.run(client->node(), post_writes(&client->channel(), &batch)).ok());
  const auto flushed = flush_journal_of(*client, slot->slot(), part.end);
  REQUIRE(flushed.ok());
  CHECK(flushed->durable_position == part.end);
  CHECK(flushed->freed_position == 0);
  CHECK(close_journal_of(*client, slot->slot(), 0).code() == ErrorCode::protocol_violation);
  const auto freed = flush_journal_of(*client, slot->slot(), part.end, 1);
  REQUIRE(freed.ok());
  CHECK(freed->freed_position == part.end);
  REQUIRE(close_journal_of(*client, slot->slot(), 1).ok());
  CHECK(journals_account(cluster) == before_bytes);
  CHECK(flush_journal_of(*client, slot->slot(), 0).status().code() == ErrorCode::undefined_object);
}

TEST_CASE("server 0 opens journals for slots of the caller only") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  const auto other = cluster.client("o");
  const auto tool = cluster.client("t");
  REQUIRE(client->connect(hello('a')).ok());
  REQUIRE(other->connect(hello('b')).ok());
  REQUIRE(tool->connect(hello('t', true)).ok());
  const auto slot = client->lease();
  REQUIRE(slot.ok());
  CHECK(open_journal_of(*other, slot->slot()).status().code() == ErrorCode::undefined_object);
  CHECK(open_journal_of(*client, slot->slot() + 1).status().code() == ErrorCode::undefined_object);
  CHECK(open_journal_of(*tool, slot->slot()).status().code() == ErrorCode::insufficient_privilege);
  REQUIRE(open_journal_of(*client, slot->slot()).ok());
  CHECK(flush_journal_of(*other, slot->slot(), 0).status().code() == ErrorCode::undefined_object);
  CHECK(close_journal_of(*other, slot->slot(), 0).code() == ErrorCode::undefined_object);
}

TEST_CASE("malformed calls about journals are refused and change nothing") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  for (const std::uint16_t method :
       {calls::kOpenJournalMethod, calls::kFlushMethod, calls::kCloseJournalMethod}) {
    for (std::size_t length = 0; length < 40; ++length)
      CHECK(client->call(method, std::string(length, '\0')).status().code() == ErrorCode::protocol_violation);
  }
  CHECK(journals_account(cluster) == 0);
}

TEST_CASE("rooms of a slot with an open journal belong to its stream") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const auto slot = client->lease();
  REQUIRE(slot.ok());
  REQUIRE(open_journal_of(*client, slot->slot()).ok());
  const auto room = client->lease_room(slot->slot(), 1U << 20);
  REQUIRE(room.ok());
  CHECK(cluster.server->journals().find(slot->slot())->rooms().at(*room) == 1U << 20);
  const std::uint64_t with_room_bytes = journals_account(cluster);
  REQUIRE(client->return_room(slot->slot(), *room).ok());
  CHECK(journals_account(cluster) == with_room_bytes - (1U << 20));
}

TEST_CASE("the journal of a dead owner stays until its slot is closed") {
  // Another memory server, which cannot be reached, keeps the slot from being closed.
  const bool closes = GENERATE(true, false);
  Options options = testing::small_options();
  options.server_count = closes ? 1 : 2;
  TestCluster cluster(options);
  const auto owner = cluster.client("o");
  REQUIRE(owner->connect(hello('o')).ok());
  const auto slot = owner->lease();
  REQUIRE(slot.ok());
  REQUIRE(open_journal_of(*owner, slot->slot()).ok());
  owner->disconnect();
  cluster.run_for(20 * kMillisecond_ns);
  const JournalStream* const stream = cluster.server->journals().find(slot->slot());
  REQUIRE((stream == nullptr) == closes);
  if (stream != nullptr) CHECK(stream->abandoned());
}

TEST_CASE("another server than 0 keeps a dead owner's journal until it is told that the owner has ended") {
  Options options = testing::small_options();
  options.server_id = 1;
  options.server_count = 2;
  TestCluster cluster(options);
  const auto owner = cluster.client("o");
  const auto other = cluster.client("r");
  REQUIRE(owner->connect(hello('o')).ok());
  REQUIRE(other->connect(hello('r')).ok());
  REQUIRE(open_journal_of(*owner, 20).ok());
  CHECK(open_journal_of(*other, 20).status().code() == ErrorCode::undefined_object);
  // It leaves cleanly, and has forgotten its journal.
  control::HeartbeatRequest heartbeat;
  heartbeat.set_leaving(true);
  REQUIRE(owner->call<control::HeartbeatReply>(control::HEARTBEAT, heartbeat).ok());
  owner->disconnect();
  cluster.run_for(20 * kMillisecond_ns);
  CHECK(cluster.server->journals().find(20) != nullptr);
  const auto news = other->call<control::HeartbeatReply>(control::HEARTBEAT, control::HeartbeatRequest());
  REQUIRE(news.ok());
  REQUIRE(news->departed_size() == 1);
  control::SettleDepartedRequest settle;
  settle.add_compute_ids(news->departed(0));
  REQUIRE(other->call<control::SettleDepartedReply>(control::SETTLE_DEPARTED, settle).ok());
  CHECK(cluster.server->journals().find(20) == nullptr);
  CHECK(journals_account(cluster) == 0);
}

TEST_CASE("a fence does not wait for a FLUSH whose entry never comes") {
  TestCluster cluster;
  const auto owner = cluster.client("o");
  const auto other = cluster.client("r");
  REQUIRE(owner->connect(hello('o')).ok());
  REQUIRE(other->connect(testing::hello_of_memory_server('r')).ok());
  const auto slot = owner->lease();
  REQUIRE(slot.ok());
  REQUIRE(open_journal_of(*owner, slot->slot()).ok());
  fabric::Call flush;
  flush.method = calls::kFlushMethod;
  flush.request = calls::encode(calls::FlushRequest{slot->slot(), 128, 0});
  owner->channel().post(flush);
  cluster.run_for(kMillisecond_ns);
  CHECK(flush.pending());
  control::FenceRequest fence;
  fence.set_compute_id(testing::compute_id('o'));
  REQUIRE(other->call<control::FenceReply>(control::FENCE, fence).ok());
  cluster.run_for(5 * kMillisecond_ns);
  CHECK_FALSE(flush.pending());
}

}  // namespace namdb::memory
