// Rooms for journal entries that are too long for their slot's ring.
#include <catch2/catch.hpp>

#include "memory/coordinator/slots.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using testing::hello;
using testing::TestCluster;

std::uint64_t journals_bytes(const TestCluster& cluster) {
  std::uint64_t bytes = 0;
  const control::MemoryReply memory = cluster.server->memory();
  for (const control::MemoryPart& part : memory.parts()) {
    if (part.purpose() == control::MEMORY_JOURNALS) bytes += part.bytes();
  }
  return bytes;
}

}  // namespace

TEST_CASE("a slot's journal takes 256 KiB by default") {
  CHECK(Options().journal_bytes == 256U << 10);
  Options options = testing::small_options();
  options.journal_bytes = Options().journal_bytes;
  TestCluster cluster(options);
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const auto slot = client->lease();
  REQUIRE(slot.ok());
  CHECK(journals_bytes(cluster) == 0);
  REQUIRE(client->open_journal(slot->slot()).ok());
  CHECK(journals_bytes(cluster) == 256U << 10);
}

TEST_CASE("a slot is lent rooms for long journal entries, and gives them back") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  const auto other = cluster.client("o");
  REQUIRE(client->connect(hello('a')).ok());
  REQUIRE(other->connect(hello('b')).ok());
  const auto slot = client->lease();
  REQUIRE(slot.ok());
  const std::uint32_t id = slot->slot();
  CHECK(client->lease_room(id, 1U << 20).status().code() == ErrorCode::undefined_object);
  REQUIRE(client->open_journal(id).ok());
  const std::uint64_t ring_bytes = journals_bytes(cluster);
  CHECK(other->lease_room(id, 1U << 20).status().code() == ErrorCode::undefined_object);
  CHECK(client->lease_room(id + 1, 1U << 20).status().code() == ErrorCode::undefined_object);
  CHECK(client->lease_room(id, 0).status().code() == ErrorCode::limit_exceeded);
  CHECK(client->lease_room(id, slot->max_journal_room_bytes() + 1).status().code() ==
        ErrorCode::limit_exceeded);
  CHECK(client->lease_room(id, 64U << 20).status().code() == ErrorCode::out_of_memory);
  CHECK(journals_bytes(cluster) == ring_bytes);

  for (int i = 0; i < 100; ++i) {
    const auto room = client->lease_room(id, 3U << 20);
    REQUIRE(room.ok());
    CHECK(journals_bytes(cluster) == ring_bytes + (3U << 20));
    CHECK(other->return_room(id, *room).code() == ErrorCode::undefined_object);
    REQUIRE(client->return_room(id, *room).ok());
    CHECK(client->return_room(id, *room).code() == ErrorCode::undefined_object);
    CHECK(journals_bytes(cluster) == ring_bytes);
  }
}

}  // namespace namdb::memory
