// Hash indexes as the catalog and a memory server know them: tables that go with another one.
#include <catch2/catch.hpp>

#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace hash_index_test {

using testing::TestClient;
using testing::TestCluster;

struct Subject {
  Subject() : client(cluster.client("c1")) {
    REQUIRE(client->connect(testing::hello('a')).ok());
    auto created = client->create(testing::accounts("t"));
    REQUIRE(created.ok());
    table = created->id();
    wanted.set_name("i");
    wanted.set_buckets_per_server(4);
    wanted.set_ring_slots(2);
    wanted.mutable_hash_index()->set_table(table);
    wanted.mutable_hash_index()->add_columns(1);
  }

  Result<std::uint32_t> create(TestClient& creator) {
    const auto created = creator.create(wanted);
    if (!created.ok()) return created.status();
    return created->id();
  }
  Status advance(TestClient& creator, std::uint32_t id, control::IndexState state, bool abandon = false) {
    control::AdvanceIndexRequest request;
    request.mutable_index()->set_id(id);
    request.set_state(state);
    request.set_abandon(abandon);
    return creator.call<control::AdvanceIndexReply>(control::ADVANCE_INDEX, request).status();
  }
  Status drop_index(const std::string& name) {
    control::DropIndexRequest request;
    request.set_name(name);
    return client->call<control::DropIndexReply>(control::DROP_INDEX, request).status();
  }
  Status drop_table(const std::string& name) {
    control::DropTableRequest request;
    request.set_name(name);
    return client->call<control::DropTableReply>(control::DROP_TABLE, request).status();
  }
  Status discard_index(std::uint32_t id) {
    control::DiscardIndexRequest request;
    request.set_index(id);
    return client->call<control::DiscardIndexReply>(control::DISCARD_INDEX, request).status();
  }
  Status discard_table(std::uint32_t id) {
    control::DiscardTableRequest request;
    request.set_table(id);
    return client->call<control::DiscardTableReply>(control::DISCARD_TABLE, request).status();
  }
  // As the catalog describes it; state INDEX_UNKNOWN: it is not there.
  control::HashIndex described() {
    const auto reply =
        client->call<control::GetCatalogReply>(control::GET_CATALOG, control::GetCatalogRequest());
    REQUIRE(reply.ok());
    for (const control::TableDescriptor& each : reply->tables()) {
      if (each.name() == "i") return each.hash_index();
    }
    return {};
  }
  std::uint64_t index_bytes() {
    std::uint64_t bytes = 0;
    const control::MemoryReply reply = cluster.server->memory();
    for (const control::MemoryPart& part : reply.parts())
      bytes += part.purpose() == control::MEMORY_INDEXES ? part.bytes() : 0;
    return bytes;
  }
  // The number of main buckets of a table, as the catalog describes it; 0: it is not there.
  std::uint64_t buckets_of(const std::string& name) {
    const auto reply =
        client->call<control::GetCatalogReply>(control::GET_CATALOG, control::GetCatalogRequest());
    REQUIRE(reply.ok());
    for (const control::TableDescriptor& each : reply->tables()) {
      if (each.name() == name) return each.buckets_per_server();
    }
    return 0;
  }
  void let_go() {
    for (int i = 0; i < 10; ++i) {
      REQUIRE(client->acknowledge_all().ok());
      cluster.run_for(10 * kMillisecond_ns);
    }
  }

  TestCluster cluster;
  std::unique_ptr<TestClient> client;
  std::uint32_t table = 0;
  control::TableDescriptor wanted;
};

TEST_CASE("a hash index whose size is left open has as many buckets as its table", "[index]") {
  Subject test;
  test.wanted.clear_buckets_per_server();
  REQUIRE(test.create(*test.client).ok());
  CHECK(test.buckets_of("i") == test.buckets_of("t"));
}

TEST_CASE("a hash index is building once its table is finished, until its builder says that it is ready",
          "[index]") {
  Subject test;
  const auto id = test.create(*test.client);
  REQUIRE(id.ok());
  CHECK(test.described().state() == control::INDEX_BUILDING);
  const auto other = test.cluster.client("c2");
  REQUIRE(other->connect(testing::hello('b')).ok());
  CHECK(test.advance(*other, *id, control::INDEX_READY).code() == ErrorCode::undefined_object);
  CHECK(test.advance(*test.client, *id, control::INDEX_BUILDING).code() == ErrorCode::protocol_violation);
  REQUIRE(test.advance(*test.client, *id, control::INDEX_READY).ok());
  CHECK(test.described().state() == control::INDEX_READY);
  CHECK(test.described().ready_version() == test.cluster.server->catalog()->version());
  CHECK(test.advance(*test.client, *id, control::INDEX_READY).code() == ErrorCode::undefined_object);
  // The builder may go now.
  test.client->disconnect();
  test.cluster.run_for(kSecond_ns);
  CHECK(test.cluster.server->tables().find(*id) != nullptr);
}

TEST_CASE("a hash index that makes no sense is refused", "[index]") {
  Subject test;
  control::HashIndex& index = *test.wanted.mutable_hash_index();
  index.set_table(test.table + 100);
  CHECK(test.create(*test.client).status().code() == ErrorCode::undefined_table);
  index.set_table(test.table);
  index.add_columns(1);
  CHECK(test.create(*test.client).status().code() == ErrorCode::invalid_table_definition);
  index.clear_columns();
  CHECK(test.create(*test.client).status().code() == ErrorCode::invalid_table_definition);
  index.add_columns(9);
  CHECK(test.create(*test.client).status().code() == ErrorCode::invalid_table_definition);
  index.set_columns(0, 1);
  test.wanted.set_name("t");
  CHECK(test.create(*test.client).status().code() == ErrorCode::duplicate_table);
  test.wanted.set_name("i");
  const auto id = test.create(*test.client);
  REQUIRE(id.ok());
  // An index has no index, and is no table.
  index.set_table(*id);
  test.wanted.set_name("j");
  CHECK(test.create(*test.client).status().code() == ErrorCode::undefined_table);
  control::BeginCreateIndexRequest of_index;
  of_index.mutable_index()->set_name("k");
  of_index.mutable_index()->set_table(*id);
  of_index.mutable_index()->add_columns()->set_column(0);
  CHECK(test.client->call<control::BeginCreateIndexReply>(control::BEGIN_CREATE_INDEX, of_index)
            .status()
            .code() == ErrorCode::undefined_table);
  CHECK(test.drop_table("i").code() == ErrorCode::undefined_table);
  CHECK(test.drop_index("t").code() == ErrorCode::undefined_object);
  CHECK(test.discard_index(test.table).code() == ErrorCode::undefined_object);
}

TEST_CASE("a hash index gives back all its memory, dropped or abandoned, with its table or its builder",
          "[index]") {
  Subject test;
  const auto id = test.create(*test.client);
  REQUIRE(id.ok());
  CHECK(test.index_bytes() > 0);
  const std::string way = GENERATE("index", "table", "abandoned", "builder");
  CAPTURE(way);
  if (way == "index") {
    REQUIRE(test.advance(*test.client, *id, control::INDEX_READY).ok());
    REQUIRE(test.drop_index("i").ok());
    REQUIRE(test.discard_index(*id).ok());
  } else if (way == "table") {
    REQUIRE(test.drop_table("t").ok());
    REQUIRE(test.discard_table(test.table).ok());
  } else if (way == "abandoned") {
    REQUIRE(test.advance(*test.client, *id, control::INDEX_UNKNOWN, true).ok());
    REQUIRE(test.discard_index(*id).ok());
  } else {
    test.client->disconnect();
    test.cluster.run_for(kSecond_ns);
    test.client = test.cluster.client("c2");
    REQUIRE(test.client->connect(testing::hello('b')).ok());
  }
  CHECK(test.described().state() == control::INDEX_UNKNOWN);
  test.let_go();
  CHECK(test.index_bytes() == 0);
  // The name is free again.
  if (way != "table") CHECK(test.create(*test.client).ok());
}

}  // namespace hash_index_test
}  // namespace namdb::memory
