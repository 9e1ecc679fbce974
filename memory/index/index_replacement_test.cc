// An index that takes the place of another one, in the catalog of a whole memory server.
#include <catch2/catch.hpp>

#include "common/calls/index_calls.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace index_replacement_test {

using testing::TestClient;
using testing::TestCluster;

// A cluster with one table and a ready index over its "value" column, of a builder that has nothing more to
// do.
struct Subject {
  Subject() : cluster(testing::small_options(), 8U << 20), client(cluster.client("c1")) {
    REQUIRE(client->connect(testing::hello('a')).ok());
    auto created = client->create(testing::accounts("t"));
    REQUIRE(created.ok());
    table = created->id();
    control::IndexDescriptor wanted;
    wanted.set_name("i");
    wanted.set_table(table);
    wanted.set_unique(true);
    wanted.add_columns()->set_column(1);
    auto begun = begin(*client, wanted);
    REQUIRE(begun.ok());
    build(*client, *begun);
    old = begun->id();
  }
  static Result<control::IndexDescriptor> begin(TestClient& builder, const control::IndexDescriptor& wanted) {
    control::BeginCreateIndexRequest request;
    *request.mutable_index() = wanted;
    auto reply = builder.call<control::BeginCreateIndexReply>(control::BEGIN_CREATE_INDEX, request);
    if (!reply.ok()) return reply.status();
    return reply->index();
  }
  static Result<control::IndexDescriptor> begin_replacement(TestClient& builder, std::uint32_t replaced) {
    control::IndexDescriptor wanted;
    wanted.set_replaces(replaced);
    return begin(builder, wanted);
  }
  static Status advance(TestClient& builder, control::IndexDescriptor index, control::IndexState state) {
    control::AdvanceIndexRequest request;
    if (index.parts_size() == 0) index.add_parts();
    *request.mutable_index() = std::move(index);
    request.set_state(state);
    request.set_abandon(state == control::INDEX_UNKNOWN);
    return builder.call<control::AdvanceIndexReply>(control::ADVANCE_INDEX, request).status();
  }
  // Up to where it may be made ready.
  static void prepare(TestClient& builder, const control::IndexDescriptor& index) {
    control::PrepareIndexRequest request;
    *request.mutable_index() = index;
    REQUIRE(builder.call<control::PrepareIndexReply>(control::PREPARE_INDEX, request).ok());
    REQUIRE(advance(builder, index, control::INDEX_BUILDING).ok());
    control::BuiltIndexRequest built;
    built.set_index(index.id());
    REQUIRE(builder.call<control::BuiltIndexReply>(control::BUILT_INDEX, built).ok());
  }
  static void build(TestClient& builder, const control::IndexDescriptor& index) {
    prepare(builder, index);
    REQUIRE(advance(builder, index, control::INDEX_READY).ok());
  }
  // By id.
  std::map<std::uint32_t, control::IndexDescriptor> catalog() {
    const auto reply =
        client->call<control::GetCatalogReply>(control::GET_CATALOG, control::GetCatalogRequest());
    REQUIRE(reply.ok());
    std::map<std::uint32_t, control::IndexDescriptor> indexes;
    for (const control::IndexDescriptor& index : reply->indexes()) indexes[index.id()] = index;
    return indexes;
  }
  Status drop(const std::string& name) {
    control::DropIndexRequest request;
    request.set_name(name);
    return client->call<control::DropIndexReply>(control::DROP_INDEX, request).status();
  }
  std::uint64_t version() const { return cluster.server->catalog()->version(); }

  TestCluster cluster;
  std::unique_ptr<TestClient> client;
  std::uint32_t table = 0;
  std::uint32_t old = 0;
};

TEST_CASE("an index is built beside the one that it replaces, and takes its place in one step", "[index]") {
  Subject subject;
  const auto begun = Subject::begin_replacement(*subject.client, subject.old);
  REQUIRE(begun.ok());
  CHECK(begun->id() > subject.old);
  CHECK(begun->name() == "i");
  CHECK(begun->table() == subject.table);
  CHECK(begun->unique());
  CHECK(begun->columns_size() == 1);
  CHECK(subject.catalog().size() == 1);
  Subject::prepare(*subject.client, *begun);
  auto catalog = subject.catalog();
  REQUIRE(catalog.size() == 2);
  CHECK(catalog[subject.old].state() == control::INDEX_READY);
  CHECK(catalog[subject.old].replaced_version() == 0);
  CHECK(catalog[begun->id()].state() == control::INDEX_BUILDING);
  CHECK(catalog[begun->id()].replaces() == subject.old);
  REQUIRE(Subject::advance(*subject.client, *begun, control::INDEX_READY).ok());
  catalog = subject.catalog();
  REQUIRE(catalog.size() == 2);
  // Every version of the catalog has one that is ready and not replaced.
  CHECK(catalog[subject.old].replaced_version() == subject.version());
  CHECK(catalog[begun->id()].ready_version() == subject.version());
  CHECK(catalog[begun->id()].replaces() == 0);
  CHECK(catalog[begun->id()].unique());
}

TEST_CASE("a replaced index stays until every worker has acknowledged", "[index]") {
  Subject subject;
  const auto other = subject.cluster.client("c2");
  REQUIRE(other->connect(testing::hello('b')).ok());
  REQUIRE(other->acknowledge_all().ok());
  const auto begun = Subject::begin_replacement(*subject.client, subject.old);
  REQUIRE(begun.ok());
  Subject::build(*subject.client, *begun);
  REQUIRE(subject.client->acknowledge_all().ok());
  CHECK(subject.catalog().size() == 2);
  REQUIRE(other->acknowledge_all().ok());
  const auto catalog = subject.catalog();
  CHECK(catalog.size() == 1);
  CHECK(catalog.contains(begun->id()));
  // Workers find its part, which the catalog does not have, and discard it.
  control::DiscardIndexRequest discard;
  discard.set_index(subject.old);
  CHECK(other->call<control::DiscardIndexReply>(control::DISCARD_INDEX, discard).ok());
}

TEST_CASE("one index is replaced by one other at a time", "[index]") {
  Subject subject;
  CHECK(Subject::begin_replacement(*subject.client, subject.old + 7).status().code() ==
        ErrorCode::undefined_object);
  const auto begun = Subject::begin_replacement(*subject.client, subject.old);
  REQUIRE(begun.ok());
  CHECK(Subject::begin_replacement(*subject.client, subject.old).status().code() ==
        ErrorCode::portal_not_ready);
  Subject::prepare(*subject.client, *begun);
  CHECK(Subject::begin_replacement(*subject.client, begun->id()).status().code() ==
        ErrorCode::undefined_object);
  REQUIRE(Subject::advance(*subject.client, *begun, control::INDEX_READY).ok());
  CHECK(Subject::begin_replacement(*subject.client, subject.old).status().code() ==
        ErrorCode::undefined_object);
  CHECK(Subject::begin_replacement(*subject.client, begun->id()).ok());
}

TEST_CASE("a builder of a replacement that goes away leaves the old index as it was", "[index]") {
  Subject subject;
  const auto builder = subject.cluster.client("c2");
  REQUIRE(builder->connect(testing::hello('b')).ok());
  const auto begun = Subject::begin_replacement(*builder, subject.old);
  REQUIRE(begun.ok());
  const bool visible = GENERATE(false, true);
  if (visible) Subject::prepare(*builder, *begun);
  SECTION("as its channel ends") {
    builder->disconnect();
    subject.cluster.run_for(kSecond_ns);
  }
  SECTION("as it says so") {
    REQUIRE(Subject::advance(*builder, *begun, control::INDEX_UNKNOWN).ok());
  }
  auto catalog = subject.catalog();
  REQUIRE(catalog.size() == 1);
  CHECK(catalog[subject.old].replaced_version() == 0);
  CHECK(catalog[subject.old].state() == control::INDEX_READY);
  const auto again = Subject::begin_replacement(*subject.client, subject.old);
  REQUIRE(again.ok());
  Subject::build(*subject.client, *again);
  CHECK(subject.catalog().contains(again->id()));
}

TEST_CASE("an index that is dropped is not replaced", "[index]") {
  Subject subject;
  const auto begun = Subject::begin_replacement(*subject.client, subject.old);
  REQUIRE(begun.ok());
  SECTION("by its name") {
    Subject::prepare(*subject.client, *begun);
    REQUIRE(subject.drop("i").ok());
  }
  SECTION("before anybody saw the new one") {
    REQUIRE(subject.drop("i").ok());
  }
  SECTION("with its table") {
    Subject::prepare(*subject.client, *begun);
    control::DropTableRequest request;
    request.set_name("t");
    REQUIRE(subject.client->call<control::DropTableReply>(control::DROP_TABLE, request).ok());
  }
  CHECK(subject.catalog().empty());
  CHECK(Subject::advance(*subject.client, *begun, control::INDEX_READY).code() ==
        ErrorCode::undefined_object);
  CHECK(subject.catalog().empty());
}

TEST_CASE("a table takes the indexes with it that were replaced, and a name is free at once", "[index]") {
  Subject subject;
  const auto begun = Subject::begin_replacement(*subject.client, subject.old);
  REQUIRE(begun.ok());
  Subject::build(*subject.client, *begun);
  REQUIRE(subject.catalog().size() == 2);
  SECTION("a dropped table") {
    control::DropTableRequest request;
    request.set_name("t");
    REQUIRE(subject.client->call<control::DropTableReply>(control::DROP_TABLE, request).ok());
    CHECK(subject.catalog().empty());
  }
  SECTION("a dropped index") {
    REQUIRE(subject.drop("i").ok());
    CHECK(subject.drop("i").code() == ErrorCode::undefined_object);
    control::IndexDescriptor wanted;
    wanted.set_name("i");
    wanted.set_table(subject.table);
    wanted.add_columns()->set_column(0);
    const auto another = Subject::begin(*subject.client, wanted);
    REQUIRE(another.ok());
    Subject::build(*subject.client, *another);
    CHECK(subject.catalog().size() == 2);
    REQUIRE(subject.client->acknowledge_all().ok());
    CHECK(subject.catalog().size() == 1);
  }
}

}  // namespace index_replacement_test
}  // namespace namdb::memory
