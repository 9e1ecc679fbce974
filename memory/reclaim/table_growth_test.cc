#include "memory/reclaim/table_growth.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using layout::Bucket;
using layout::BucketArray;
using layout::HeaderWord;
using layout::Stamp;
using testing::TestCluster;

constexpr std::uint64_t kStep_ns = 20 * kMillisecond_ns;

Options growing_options() {
  Options options = testing::small_options();
  options.growth_percent = 20;  // more than two rows in a main bucket
  options.growth_interval_ns = kMillisecond_ns;
  return options;
}

// A table of one main bucket.
struct GrowthTest {
  explicit GrowthTest(Options options = growing_options(), std::uint64_t region_bytes = 8U << 20)
      : cluster(options, region_bytes), client(cluster.client("c")) {
    REQUIRE(client->connect(testing::hello('a')).ok());
    slot = *client->lease();
    table = *client->create(testing::accounts("accounts", 1));
    first = {table.bucket_base(0), 1, table.generation()};
  }
  void insert(std::int64_t rows) {
    const auto records = *client->allocate(table.id(), static_cast<std::uint32_t>(rows));
    for (std::int64_t key = 0; key < rows; ++key) {
      cluster.insert(table, records[static_cast<std::size_t>(key)], key, {slot.slot(), 1});
    }
    keys = rows;
  }
  control::HeartbeatReply heartbeat() {
    auto reply = client->call<control::HeartbeatReply>(control::HEARTBEAT, control::HeartbeatRequest());
    REQUIRE(reply.ok());
    return *reply;
  }
  // Growth sees what was inserted, and has time.
  control::HeartbeatReply grow() {
    cluster.run_for(kStep_ns);
    heartbeat();
    cluster.run_for(kStep_ns);
    return heartbeat();
  }
  Bucket bucket_at(std::uint64_t offset) {
    Bucket bucket;
    std::memcpy(&bucket, cluster.bytes(offset, sizeof bucket).data(), sizeof bucket);
    return bucket;
  }
  // How often the key's entry is met from the first array on.
  std::uint64_t met(std::int64_t key) {
    const std::uint64_t hash = layout::hash_key(table.id(), std::as_bytes(std::span(&key, 1)));
    BucketArray array = first;
    std::uint64_t count = 0;
    for (std::uint64_t offset = array.bucket_offset(array.index_of(hash, 1)); offset != 0;) {
      const Bucket bucket = bucket_at(offset);
      REQUIRE(bucket.certified(layout::GlobalAddress(0, offset)));
      REQUIRE(bucket.table == table.id());
      REQUIRE(bucket.generation == array.generation);
      for (const layout::BucketEntry& entry : bucket.entries) count += entry.key_hash == hash ? 1 : 0;
      if (bucket.forwarded()) {
        array = array.doubled(bucket.forward_base());
        offset = array.bucket_offset(array.index_of(hash, 1));
      } else {
        offset = bucket.next_offset;
      }
    }
    return count;
  }
  control::TableUse use() { return cluster.server->status().tables(0); }
  Status tell_catalog(const control::GrownTable& grown, std::uint32_t server = 0) {
    control::GrowTableRequest request;
    request.set_server(server);
    *request.mutable_table() = grown;
    return client->call<control::GrowTableReply>(control::GROW_TABLE, request).status();
  }
  Status retire(std::uint32_t id, std::uint32_t doublings) {
    control::RetireBucketsRequest request;
    request.set_table(id);
    request.set_doublings(doublings);
    return client->call<control::RetireBucketsReply>(control::RETIRE_BUCKETS, request).status();
  }
  control::GetCatalogReply catalog() {
    return *client->call<control::GetCatalogReply>(control::GET_CATALOG, control::GetCatalogRequest());
  }
  std::uint64_t accounted() const {
    const RegionUse bytes = cluster.server->use();
    return bytes.fixed_bytes + bytes.free_bytes + bytes.journal_bytes + bytes.table_bytes +
           bytes.overflow_bytes;
  }

  TestCluster cluster;
  std::unique_ptr<testing::TestClient> client;
  control::LeaseSlotReply slot;
  control::TableDescriptor table;
  BucketArray first;
  std::int64_t keys = 0;
};

TEST_CASE("main buckets with too many rows are doubled, and the old ones lead to every row, once") {
  GrowthTest test;
  test.insert(9);
  const control::HeartbeatReply reply = test.grow();
  REQUIRE(reply.grown_size() == 1);
  CHECK(reply.grown(0).table() == test.table.id());
  CHECK(reply.grown(0).doublings() == 3);  // 9 rows: more than in 4 buckets, not more than in 8
  CHECK(test.use().bucket_count() == 8);
  CHECK(test.use().doublings() == 3);
  for (std::int64_t key = 0; key < test.keys; ++key) CHECK(test.met(key) == 1);
  CHECK(test.accounted() == 8U << 20);
  // Nothing is locked, and nothing goes on by itself.
  for (std::uint64_t i = 0; i < 8; ++i) {
    CHECK(test.cluster.load(reply.grown(0).bucket_base() + i * layout::kBucket_bytes) == 0);
  }
  CHECK_FALSE(HeaderWord(test.cluster.load(test.first.base_offset)).locked());
  test.cluster.world.run_until_idle();
}

TEST_CASE("a table whose rows fit its main buckets is left alone, whatever is reserved for it") {
  GrowthTest test;
  test.insert(2);
  REQUIRE(test.client->allocate(test.table.id(), 500).ok());
  REQUIRE(test.client->allocate(test.table.id(), 100, true).ok());
  const control::HeartbeatReply reply = test.grow();
  CHECK(reply.grown_size() == 0);
  CHECK(test.use().doublings() == 0);
}

TEST_CASE("old arrays stay until the catalog has the new one and every live worker acknowledged") {
  GrowthTest test;
  const auto other = test.cluster.client("o");
  REQUIRE(other->connect(testing::hello('o')).ok());
  const std::uint64_t before = test.catalog().version();
  test.insert(9);
  const control::GrownTable grown = test.grow().grown(0);
  CHECK(test.use().other_array_bytes() == (1 + 2 + 4) * layout::kBucket_bytes);
  REQUIRE(test.client->acknowledge_all().ok());
  REQUIRE(other->acknowledge_all().ok());
  test.cluster.run_for(kStep_ns);
  CHECK(test.use().other_array_bytes() != 0);  // the catalog does not know yet

  REQUIRE(test.tell_catalog(grown).ok());
  const control::GetCatalogReply catalog = test.catalog();
  CHECK(catalog.version() == before + 1);
  CHECK(catalog.tables(0).bucket_base(0) == grown.bucket_base());
  CHECK(catalog.tables(0).doublings(0) == 3);
  REQUIRE(test.tell_catalog(grown).ok());  // by another worker: no news
  CHECK(test.catalog().version() == before + 1);
  control::GrownTable older = grown;
  older.set_doublings(2);
  older.set_bucket_base(test.first.base_offset);
  REQUIRE(test.tell_catalog(older).ok());
  CHECK(test.catalog().tables(0).bucket_base(0) == grown.bucket_base());

  REQUIRE(test.retire(test.table.id(), 3).ok());
  REQUIRE(test.retire(test.table.id(), 3).ok());
  CHECK(test.heartbeat().grown_size() == 0);
  test.cluster.run_for(kStep_ns);
  REQUIRE(test.client->acknowledge_all().ok());
  test.cluster.run_for(kStep_ns);
  CHECK(test.use().other_array_bytes() != 0);
  CHECK(test.met(3) == 1);
  REQUIRE(other->acknowledge_all().ok());
  test.cluster.run_for(kStep_ns);
  CHECK(test.use().other_array_bytes() == 0);
  CHECK(test.accounted() == 8U << 20);
  // Main buckets and records.
  CHECK(test.cluster.server->use().table_bytes == 2 * BuddyAllocator::kSmallest_bytes);
}

TEST_CASE("a chain whose lock is held is not moved, and workers hear of the lock") {
  GrowthTest test;
  const std::uint64_t lock = HeaderWord(Stamp{20, 5}, false, true).value();
  test.cluster.store(test.first.base_offset, lock);
  test.insert(9);
  test.grow();
  test.cluster.run_for(kStep_ns);
  control::HeartbeatReply reply = test.heartbeat();
  CHECK(reply.grown_size() == 0);
  REQUIRE(reply.held_locks_size() == 1);
  CHECK(reply.held_locks(0).offset() == test.first.base_offset);
  CHECK(reply.held_locks(0).word() == lock);
  CHECK_FALSE(test.bucket_at(test.first.base_offset).forwarded());
  SECTION("it is released: growth ends") {
    test.cluster.store(test.first.base_offset, HeaderWord(Stamp{20, 5}).value());
    test.cluster.run_for(kStep_ns);
    reply = test.heartbeat();
    CHECK(reply.held_locks_size() == 0);
    CHECK(reply.grown_size() == 1);
    for (std::int64_t key = 0; key < test.keys; ++key) CHECK(test.met(key) == 1);
  }
  SECTION("the table is dropped: all arrays are given back") {
    control::DropTableRequest drop;
    drop.set_name("accounts");
    REQUIRE(test.client->call<control::DropTableReply>(control::DROP_TABLE, drop).ok());
    control::DiscardTableRequest discard;
    discard.set_table(test.table.id());
    REQUIRE(test.client->call<control::DiscardTableReply>(control::DISCARD_TABLE, discard).ok());
    test.cluster.run_for(kStep_ns);
    REQUIRE(test.client->acknowledge_all().ok());
    test.cluster.run_for(kStep_ns);
    CHECK(test.cluster.server->use().table_bytes == 0);
    CHECK(test.accounted() == 8U << 20);
    test.cluster.world.run_until_idle();
  }
}

TEST_CASE("growth leaves at least as much room as it takes") {
  GrowthTest test(growing_options(), 8 * (64U << 10));
  test.insert(9);
  // All but what is reserved for old versions, and one block: growth takes that only if there is another.
  const ExtentAllocator& extents = test.cluster.server->region().extents();
  const std::uint64_t left_bytes =
      extents.reserve() * extents.extent_bytes() + BuddyAllocator::kSmallest_bytes;
  for (int i = 0; test.cluster.server->use().free_bytes > left_bytes; ++i)
    REQUIRE(test.client->create(testing::accounts("filler" + std::to_string(i), 1)).ok());
  CHECK(test.grow().grown_size() == 0);
  CHECK(test.cluster.server->use().free_bytes == left_bytes);
}

TEST_CASE("news of growth that cannot be is refused") {
  GrowthTest test;
  test.insert(9);
  control::GrownTable grown = test.grow().grown(0);
  CHECK(test.retire(test.table.id(), 4).code() == ErrorCode::protocol_violation);
  CHECK(test.retire(99, 1).code() == ErrorCode::undefined_table);
  CHECK(test.tell_catalog(grown, 1).code() == ErrorCode::protocol_violation);
  grown.set_bucket_base(grown.bucket_base() + 4);
  CHECK(test.tell_catalog(grown).code() == ErrorCode::protocol_violation);
  grown.set_bucket_base(grown.bucket_base() - 4);
  grown.set_doublings(60);
  CHECK(test.tell_catalog(grown).code() == ErrorCode::protocol_violation);
  grown.set_table(99);
  CHECK(test.tell_catalog(grown).code() == ErrorCode::undefined_table);
}

}  // namespace
}  // namespace namdb::memory
