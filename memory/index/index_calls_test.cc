// The calls about indexes, on a whole memory server over the simulated fabric.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "common/calls/index_calls.h"
#include "common/layout/index_page.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace index_calls_test {

using calls::IndexChange;
using testing::TestClient;
using testing::TestCluster;
using Kind = IndexChange::Kind;
using EntryVerdict = calls::IndexVerdict::Kind;

Options index_options() {
  Options options = testing::small_options();
  options.index_page_bytes = layout::kMinIndexPage_bytes;
  options.index_grace_ns = 5 * kMillisecond_ns;
  return options;
}

// A cluster with one table and an index over its "value" column.
struct Subject {
  explicit Subject(Options options = index_options(), std::uint64_t region_bytes = 8U << 20)
      : cluster(options, region_bytes), client(cluster.client("c1")) {
    REQUIRE(client->connect(testing::hello('a')).ok());
    auto created = client->create(testing::accounts("t"));
    REQUIRE(created.ok());
    table = *created;
    wanted.set_name("i");
    wanted.set_table(table.id());
    wanted.add_columns()->set_column(1);
  }

  Status begin(TestClient& creator) {
    control::BeginCreateIndexRequest request;
    *request.mutable_index() = wanted;
    const auto begun = creator.call<control::BeginCreateIndexReply>(control::BEGIN_CREATE_INDEX, request);
    if (begun.ok()) index = begun->index();
    return begun.status();
  }
  Status prepare(TestClient& creator, const std::string& low = "", std::optional<std::string> high = {}) {
    control::PrepareIndexRequest request;
    *request.mutable_index() = index;
    request.set_low(low);
    if (high) request.set_high(*high);
    return creator.call<control::PrepareIndexReply>(control::PREPARE_INDEX, request).status();
  }
  Status advance(TestClient& creator, control::IndexState state, bool abandon = false) {
    control::AdvanceIndexRequest request;
    if (index.parts_size() == 0) index.add_parts();
    *request.mutable_index() = index;
    request.set_state(state);
    request.set_abandon(abandon);
    return creator.call<control::AdvanceIndexReply>(control::ADVANCE_INDEX, request).status();
  }
  Status built(TestClient& creator) {
    control::BuiltIndexRequest request;
    request.set_index(index.id());
    return creator.call<control::BuiltIndexReply>(control::BUILT_INDEX, request).status();
  }
  void build() {
    REQUIRE(begin(*client).ok());
    REQUIRE(prepare(*client).ok());
    REQUIRE(advance(*client, control::INDEX_BUILDING).ok());
    REQUIRE(built(*client).ok());
    REQUIRE(advance(*client, control::INDEX_READY).ok());
  }
  Result<std::uint64_t> change(Kind kind, const std::string& key) {
    std::string request;
    append(request, IndexChange{kind, index.id(), 0, key});
    const auto reply = client->call(calls::kIndexWriteMethod, request);
    if (!reply.ok()) return reply.status();
    return calls::decode_index_results(*reply)->at(0).sequence;
  }
  std::vector<std::string> keys(const std::string& low = "", std::optional<std::string_view> high = {},
                                bool descending = false, std::uint32_t limit = 1000) {
    const auto reply = client->call(calls::kIndexSeekMethod,
                                    encode(calls::IndexSeek{index.id(), descending, limit, low, high}));
    REQUIRE(reply.ok());
    const auto result = calls::decode_index_seek_result(*reply);
    REQUIRE(result);
    more = result->more;
    return {result->keys.begin(), result->keys.end()};
  }
  std::vector<std::pair<std::string, std::uint64_t>> doubts() {
    const std::uint32_t limit = 100;
    const auto reply = client->call(calls::kIndexDoubtsMethod,
                                    std::string(reinterpret_cast<const char*>(&limit), sizeof limit));
    REQUIRE(reply.ok());
    std::vector<std::pair<std::string, std::uint64_t>> found;
    const auto given = calls::decode_index_doubts(*reply);
    REQUIRE(given);
    for (const auto& doubt : *given) {
      found.emplace_back(std::string(doubt.key), doubt.sequence);
    }
    return found;
  }
  void settle(const std::string& key, std::uint64_t sequence, EntryVerdict verdict) {
    std::string request;
    append(request, calls::IndexVerdict{verdict, index.id(), sequence, key});
    REQUIRE(client->call(calls::kIndexSettleMethod, request).ok());
  }
  std::vector<control::IndexDescriptor> catalog() {
    const auto reply =
        client->call<control::GetCatalogReply>(control::GET_CATALOG, control::GetCatalogRequest());
    REQUIRE(reply.ok());
    return {reply->indexes().begin(), reply->indexes().end()};
  }
  void check_accounts() {
    const RegionUse use = cluster.server->use();
    CHECK(use.fixed_bytes + use.free_bytes + use.journal_bytes + use.table_bytes + use.overflow_bytes +
              use.index_bytes ==
          cluster.server->region().bytes());
    for (const auto& [id, found] : cluster.server->indexes().all()) CHECK(found->tree->check().empty());
    std::uint64_t told_bytes = 0;
    std::uint64_t index_bytes = 0;
    const control::MemoryReply account = cluster.server->memory();
    for (const control::MemoryPart& part : account.parts()) {
      told_bytes += part.bytes();
      if (part.purpose() == control::MEMORY_INDEXES) index_bytes += part.bytes();
    }
    CHECK(told_bytes == cluster.server->region().bytes());
    CHECK(index_bytes == use.index_bytes);
  }

  TestCluster cluster;
  std::unique_ptr<TestClient> client;
  control::TableDescriptor table;
  control::IndexDescriptor wanted;
  control::IndexDescriptor index;
  bool more = false;
};

using Keys = std::vector<std::string>;

TEST_CASE("an index is in the catalog while it is built and when it is ready", "[index]") {
  Subject subject;
  REQUIRE(subject.begin(*subject.client).ok());
  CHECK(subject.index.id() > subject.table.id());
  CHECK(subject.index.page_bytes() == layout::kMinIndexPage_bytes);
  CHECK(subject.catalog().empty());
  CHECK(subject.begin(*subject.client).code() == ErrorCode::duplicate_table);
  CHECK(subject.client->create(testing::accounts("i")).status().code() == ErrorCode::duplicate_table);
  REQUIRE(subject.prepare(*subject.client).ok());
  CHECK(subject.prepare(*subject.client).code() == ErrorCode::duplicate_table);
  CHECK(subject.advance(*subject.client, control::INDEX_READY).code() == ErrorCode::protocol_violation);
  REQUIRE(subject.advance(*subject.client, control::INDEX_BUILDING).ok());
  REQUIRE(subject.catalog().size() == 1);
  CHECK(subject.catalog()[0].state() == control::INDEX_BUILDING);
  CHECK(subject.advance(*subject.client, control::INDEX_BUILDING).code() == ErrorCode::protocol_violation);
  REQUIRE(subject.built(*subject.client).ok());
  REQUIRE(subject.advance(*subject.client, control::INDEX_READY).ok());
  CHECK(subject.catalog()[0].state() == control::INDEX_READY);
  CHECK(subject.catalog()[0].ready_version() == subject.cluster.server->catalog()->version());
  CHECK(subject.cluster.server->status().indexes_size() == 1);
  subject.check_accounts();
}

TEST_CASE("a table and the indexes that were begun for it appear together", "[index]") {
  Subject subject;
  TestClient& client = *subject.client;
  control::BeginCreateTableRequest begin;
  *begin.mutable_table() = testing::accounts("u");
  const auto begun = client.call<control::BeginCreateTableReply>(control::BEGIN_CREATE_TABLE, begin);
  REQUIRE(begun.ok());
  control::PrepareTableRequest prepare;
  *prepare.mutable_table() = begun->table();
  const auto prepared = client.call<control::PrepareTableReply>(control::PREPARE_TABLE, prepare);
  REQUIRE(prepared.ok());
  control::FinishCreateTableRequest finish;
  *finish.mutable_table() = begun->table();
  finish.mutable_table()->add_bucket_base(prepared->bucket_base());
  subject.wanted.set_table(begun->table().id());
  subject.wanted.set_constraint(true);
  const auto other = subject.cluster.client("c2");
  REQUIRE(other->connect(testing::hello('b')).ok());
  CHECK(subject.begin(*other).code() == ErrorCode::undefined_table);
  REQUIRE(subject.begin(client).ok());
  // Not by itself, ...
  REQUIRE(subject.prepare(client).ok());
  CHECK(subject.advance(client, control::INDEX_BUILDING).code() == ErrorCode::protocol_violation);
  REQUIRE(subject.built(client).ok());
  // ... and the table neither without it nor with another one.
  const auto refused = [&](const control::FinishCreateTableRequest& request) {
    const auto reply = client.call<control::FinishCreateTableReply>(control::FINISH_CREATE_TABLE, request);
    return !reply.ok() && reply.status().code() == ErrorCode::protocol_violation;
  };
  CHECK(refused(finish));
  control::FinishCreateTableRequest wrong = finish;
  *wrong.add_indexes() = subject.index;
  wrong.mutable_indexes(0)->clear_parts();
  CHECK(refused(wrong));
  *wrong.mutable_indexes(0) = subject.index;
  *wrong.add_indexes() = subject.index;
  CHECK(refused(wrong));
  *finish.add_indexes() = subject.index;
  const auto catalog =
      client.call<control::GetCatalogReply>(control::GET_CATALOG, control::GetCatalogRequest());
  CHECK(catalog->indexes().empty());
  CHECK(catalog->tables_size() == 1);
  control::GetCatalogRequest of_ids;
  of_ids.set_part(control::CATALOG_IDS);
  const auto ids = client.call<control::GetCatalogReply>(control::GET_CATALOG, of_ids);
  CHECK(ids->ids_size() == 1);
  CHECK(ids->creating_size() == 2);
  REQUIRE(client.call<control::FinishCreateTableReply>(control::FINISH_CREATE_TABLE, finish).ok());
  REQUIRE(subject.catalog().size() == 1);
  CHECK(subject.catalog()[0].state() == control::INDEX_READY);
  CHECK(subject.catalog()[0].ready_version() == subject.cluster.server->catalog()->version());
  control::DropIndexRequest drop;
  drop.set_name("i");
  CHECK(client.call<control::DropIndexReply>(control::DROP_INDEX, drop).status().code() ==
        ErrorCode::dependent_objects_still_exist);
  REQUIRE(subject.change(Kind::add, "key").ok());
  subject.check_accounts();
}

TEST_CASE("entries are added, searched in both directions, and told with their rivals", "[index]") {
  Subject subject;
  subject.build();
  for (const char* key : {"b1", "a1", "b2", "c1"}) REQUIRE(subject.change(Kind::add, key).ok());
  CHECK(subject.keys() == Keys{"a1", "b1", "b2", "c1"});
  CHECK(subject.keys("b", "c") == Keys{"b1", "b2"});
  CHECK(subject.keys("", "c", true, 2) == Keys{"b2", "b1"});
  CHECK(subject.more);
  CHECK(subject.keys("", {}, true, 4) == Keys{"c1", "b2", "b1", "a1"});
  CHECK_FALSE(subject.more);
  std::string request;
  append(request, IndexChange{Kind::add, subject.index.id(), 1, "b3"});
  append(request, IndexChange{Kind::add, subject.index.id(), 1, "d1"});
  const auto reply = subject.client->call(calls::kIndexWriteMethod, request);
  REQUIRE(reply.ok());
  const auto results = calls::decode_index_results(*reply);
  REQUIRE(results->size() == 2);
  CHECK(results->at(0).candidates == std::vector<std::string_view>{"b1", "b2"});
  CHECK(results->at(1).candidates.empty());
  CHECK(subject.keys().size() == 6);
  subject.check_accounts();
}

TEST_CASE("an entry that is settled as dead is searched no more once every worker went on", "[index]") {
  Subject subject;
  subject.build();
  const auto live = subject.change(Kind::add, "live");
  REQUIRE(subject.change(Kind::add, "dead").ok());
  subject.settle("live", *live, EntryVerdict::live);
  const auto mark = subject.change(Kind::mark, "dead");
  REQUIRE(mark.ok());
  CHECK(subject.doubts().empty());
  subject.cluster.run_for(6 * kMillisecond_ns);
  const auto heard =
      subject.client->call<control::HeartbeatReply>(control::HEARTBEAT, control::HeartbeatRequest());
  CHECK(heard->index_doubts());
  const auto doubts = subject.doubts();
  REQUIRE(doubts.size() == 1);
  CHECK(doubts[0] == std::pair<std::string, std::uint64_t>{"dead", *mark});
  subject.settle("dead", *mark, EntryVerdict::dead);
  subject.cluster.run_for(20 * kMillisecond_ns);
  CHECK(subject.keys() == Keys{"dead", "live"});
  REQUIRE(subject.client->acknowledge_all().ok());
  subject.cluster.run_for(20 * kMillisecond_ns);
  CHECK(subject.keys() == Keys{"live"});
  CHECK(subject.cluster.server->indexes().doubts().count() == 0);
  subject.check_accounts();
}

TEST_CASE("an entry that is added again while it waits to go stays", "[index]") {
  Subject subject;
  subject.build();
  const auto first = subject.change(Kind::add, "k");
  subject.settle("k", *first, EntryVerdict::dead);
  subject.cluster.run_for(10 * kMillisecond_ns);
  const auto second = subject.change(Kind::add, "k");
  CHECK(*second != *first);
  subject.cluster.run_for(200 * kMillisecond_ns);
  CHECK(subject.keys() == Keys{"k"});
  subject.settle("k", *second, EntryVerdict::live);
  CHECK(subject.cluster.server->indexes().doubts().count() == 0);
}

TEST_CASE("a mark of an entry that is not there is nothing, unless the index is building", "[index]") {
  Subject subject;
  REQUIRE(subject.begin(*subject.client).ok());
  REQUIRE(subject.prepare(*subject.client).ok());
  CHECK(*subject.change(Kind::mark, "late") != 0);
  CHECK(*subject.change(Kind::load, "quiet") == 0);
  // The builder adds what its old snapshot shows: a worker will check it.
  CHECK(*subject.change(Kind::load, "late") != 0);
  subject.cluster.run_for(kSecond_ns);
  CHECK(subject.doubts().empty());
  REQUIRE(subject.built(*subject.client).ok());
  const auto doubts = subject.doubts();
  REQUIRE(doubts.size() == 1);
  CHECK(doubts[0].first == "late");
  CHECK(*subject.change(Kind::mark, "nowhere") == 0);
  CHECK(subject.keys() == Keys{"late", "quiet"});
}

TEST_CASE("malformed requests about indexes are refused and do no harm", "[index]") {
  Subject subject;
  subject.build();
  TestClient& client = *subject.client;
  CHECK(client.call(calls::kIndexWriteMethod, "x").status().code() == ErrorCode::protocol_violation);
  CHECK(client.call(calls::kIndexSettleMethod, "x").status().code() == ErrorCode::protocol_violation);
  CHECK(client.call(calls::kIndexDoubtsMethod, "x").status().code() == ErrorCode::protocol_violation);
  CHECK(client.call(calls::kIndexSeekMethod, "x").status().code() == ErrorCode::protocol_violation);
  CHECK(client.call(calls::kIndexWriteMethod, "").ok());
  CHECK(subject.change(Kind::add, std::string(1000, 'x')).status().code() == ErrorCode::limit_exceeded);
  std::string request;
  append(request, IndexChange{Kind::add, subject.index.id(), 5, "abc"});
  CHECK(client.call(calls::kIndexWriteMethod, request).status().code() == ErrorCode::protocol_violation);
  request.clear();
  append(request, IndexChange{Kind::add, 99, 0, "abc"});
  CHECK(client.call(calls::kIndexWriteMethod, request).status().code() == ErrorCode::undefined_object);
  CHECK(
      client.call(calls::kIndexSeekMethod, encode(calls::IndexSeek{99, false, 1, "", {}})).status().code() ==
      ErrorCode::undefined_object);
  subject.settle("nobody", 3, EntryVerdict::dead);
  // Bounds the wrong way round, and longer than any key.
  CHECK(subject.keys("z", "a").empty());
  CHECK(subject.keys(std::string(5000, 'z')).empty());
  CHECK(subject.keys("", "z", false, 0).empty());

  Subject other;
  const auto refused = [&](auto change) {
    control::IndexDescriptor before = other.wanted;
    change(other.wanted);
    const Status status = other.begin(*other.client);
    other.wanted = before;
    return !status.ok();
  };
  CHECK(refused([](auto& index) { index.clear_columns(); }));
  CHECK(refused([](auto& index) { index.mutable_columns(0)->set_column(2); }));
  CHECK(refused([](auto& index) { index.add_columns()->set_column(1); }));
  CHECK(refused([](auto& index) { index.set_name(""); }));
  CHECK(refused([](auto& index) { index.set_table(99); }));
  CHECK(refused([](auto& index) { index.set_name("t"); }));
  REQUIRE(other.begin(*other.client).ok());
  CHECK_FALSE(other.prepare(*other.client, "b", "a").ok());
  CHECK_FALSE(other.prepare(*other.client, std::string(500, 'x')).ok());
  other.index.set_page_bytes(768);
  CHECK_FALSE(other.prepare(*other.client).ok());
  other.index.set_page_bytes(1 << 20);
  CHECK_FALSE(other.prepare(*other.client).ok());
  CHECK_FALSE(other.built(*other.client).ok());
}

TEST_CASE("keys outside a server's part of an index are said to be elsewhere", "[index]") {
  Subject subject;
  REQUIRE(subject.begin(*subject.client).ok());
  REQUIRE(subject.prepare(*subject.client, "c", "f").ok());
  CHECK(subject.change(Kind::add, "b").status().code() == ErrorCode::catalog_changed);
  CHECK(subject.change(Kind::add, "f").status().code() == ErrorCode::catalog_changed);
  CHECK(subject.change(Kind::add, "c").ok());
  const auto seek = [&](calls::IndexSeek request) {
    request.index = subject.index.id();
    request.limit = 10;
    return subject.client->call(calls::kIndexSeekMethod, encode(request)).ok();
  };
  CHECK(seek({0, false, 0, "c", {}}));
  CHECK_FALSE(seek({0, false, 0, "b", {}}));
  CHECK_FALSE(seek({0, false, 0, "f", {}}));
  CHECK(seek({0, true, 0, "", "f"}));
  CHECK_FALSE(seek({0, true, 0, "", {}}));
  CHECK_FALSE(seek({0, true, 0, "", "c"}));
}

TEST_CASE("a builder that goes away leaves no index behind", "[index]") {
  Subject subject;
  auto builder = subject.cluster.client("c2");
  REQUIRE(builder->connect(testing::hello('b')).ok());
  const std::uint64_t free_before = subject.cluster.server->use().free_bytes;
  REQUIRE(subject.begin(*builder).ok());
  REQUIRE(subject.prepare(*builder).ok());
  REQUIRE(subject.advance(*builder, control::INDEX_BUILDING).ok());
  CHECK(subject.advance(*subject.client, control::INDEX_READY).code() == ErrorCode::undefined_object);
  REQUIRE(subject.change(Kind::add, "k").ok());
  CHECK(subject.cluster.server->use().free_bytes < free_before);
  builder->disconnect();
  subject.cluster.run_for(20 * kMillisecond_ns);
  CHECK(subject.catalog().empty());
  CHECK(subject.change(Kind::add, "l").status().code() == ErrorCode::undefined_object);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(subject.client->acknowledge_all().ok());
    subject.cluster.run_for(20 * kMillisecond_ns);
  }
  CHECK(subject.cluster.server->use().free_bytes == free_before);
  CHECK(subject.cluster.server->indexes().all().empty());
  subject.build();  // the name is free
  subject.check_accounts();
}

TEST_CASE("an index that is dropped, alone or with its table, gives all its memory back", "[index]") {
  for (const bool with_table : {false, true}) {
    Subject subject;
    const std::uint64_t free_before = subject.cluster.server->use().free_bytes;
    subject.build();
    for (int i = 0; i < 3000; ++i) REQUIRE(subject.change(Kind::add, "key" + std::to_string(i)).ok());
    CHECK(subject.cluster.server->use().index_bytes > 0);
    if (with_table) {
      control::DropTableRequest drop;
      drop.set_name("t");
      REQUIRE(subject.client->call<control::DropTableReply>(control::DROP_TABLE, drop).ok());
      control::DiscardTableRequest discard;
      discard.set_table(subject.table.id());
      REQUIRE(subject.client->call<control::DiscardTableReply>(control::DISCARD_TABLE, discard).ok());
    } else {
      control::DropIndexRequest drop;
      drop.set_name("i");
      const auto dropped = subject.client->call<control::DropIndexReply>(control::DROP_INDEX, drop);
      REQUIRE(dropped.ok());
      control::DiscardIndexRequest discard;
      discard.set_index(dropped->index());
      REQUIRE(subject.client->call<control::DiscardIndexReply>(control::DISCARD_INDEX, discard).ok());
      CHECK(subject.client->call<control::DropIndexReply>(control::DROP_INDEX, drop).status().code() ==
            ErrorCode::undefined_object);
    }
    CHECK(subject.catalog().empty());
    subject.cluster.run_for(50 * kMillisecond_ns);
    CHECK(subject.cluster.server->use().index_bytes > 0);  // not acknowledged yet
    for (int i = 0; i < 3; ++i) {
      REQUIRE(subject.client->acknowledge_all().ok());
      subject.cluster.run_for(50 * kMillisecond_ns);
    }
    CHECK(subject.cluster.server->use().index_bytes == 0);
    CHECK(subject.cluster.server->use().free_bytes >= free_before);
    subject.check_accounts();
  }
}

TEST_CASE("a full region refuses entries, and keeps those that it has", "[index]") {
  Subject subject(index_options(), 1U << 20);
  subject.build();
  Keys added;
  Status status;
  for (int i = 0; status.ok(); ++i) {
    const std::string key = std::to_string(i % 7) + std::string(40, 'x') + std::to_string(i);
    status = subject.change(Kind::add, key).status();
    if (status.ok()) added.push_back(key);
  }
  CHECK(status.code() == ErrorCode::out_of_memory);
  std::sort(added.begin(), added.end());
  // More than one reply carries.
  Keys found = subject.keys("", {}, false, 100'000);
  CHECK(subject.more);
  while (subject.more) {
    const Keys rest = subject.keys(found.back() + '\0', {}, false, 100'000);
    found.insert(found.end(), rest.begin(), rest.end());
  }
  CHECK((found == added));
  subject.check_accounts();
}

}  // namespace index_calls_test
}  // namespace namdb::memory
