// Secondary indexes against full scans (index_run.h): many seeds, each a whole cluster. NAMDB_SEEDS and
// NAMDB_FIRST_SEED run more than the fixed ones.
#include <catch2/catch.hpp>

#include "proto/control.pb.h"
#include "tools/namsim/scenario/index_run.h"
#include "tools/namsim/testing/seeds.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

void run_seeds(IndexTrouble trouble, std::uint64_t default_count) {
  const auto [first, count] = Seeds(default_count);
  IndexVerdict sum;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const IndexVerdict verdict = run_indexes(seed, trouble);
    INFO("seed " << seed << ": " << verdict.anomaly);
    REQUIRE(verdict.anomaly.empty());
    sum.committed += verdict.committed;
    sum.compared += verdict.compared;
    sum.duplicates += verdict.duplicates;
    sum.built += verdict.built;
    sum.rebuilt += verdict.rebuilt;
    sum.in_parts += verdict.in_parts;
    sum.removed += verdict.removed;
  }
  INFO(sum.committed << " committed, " << sum.compared << " compared, " << sum.duplicates << " duplicates, "
                     << sum.built << " built, " << sum.rebuilt << " rebuilt, " << sum.in_parts
                     << " in parts, " << sum.removed << " removed");
  CHECK(sum.committed > count * 5);
  CHECK(sum.compared > count * 5);
  CHECK(sum.removed > count * 5);
  CHECK(sum.duplicates > 0);
  CHECK(sum.built > count / 10);
  CHECK(sum.rebuilt > count / 4);
  CHECK(sum.in_parts > count);
}

constexpr std::int64_t kManyRows = 10'000;

reactor::Task<Status> load_numbers(txn::Engine* engine) {
  const layout::Schema schema = bigints({"id", "number"});
  Status status = co_await create_table(*engine, "numbers", schema, kManyRows, 0);
  const auto session = engine->open_session();
  for (std::int64_t first = 0; first < kManyRows && status.ok(); first += 10) {
    const auto table = co_await engine->table("numbers");
    if (!table.ok()) co_return table.status();
    const auto transaction = engine->begin(*session);
    for (std::int64_t id = first; id < first + 10 && status.ok(); ++id)
      status = insert_pair(*transaction, *table, id, id % 100);
    if (status.ok()) status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->commit();
  }
  co_return status;
}

reactor::Task<Status> scan_numbers(txn::Engine* engine) {
  const auto table = co_await engine->table("numbers");
  if (!table.ok()) co_return table.status();
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  const auto scan = transaction->scan(*table);
  std::vector<layout::Row> rows;
  Status status;
  do {
    status = co_await scan->next(rows);
  } while (status.ok() && !rows.empty());
  co_return status;
}

reactor::Task<Status> erase_numbers(txn::Engine* engine, std::int64_t count) {
  const auto table = co_await engine->table("numbers");
  if (!table.ok()) co_return table.status();
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  std::vector<txn::RowId> rows;
  for (std::int64_t id = 0; id < count; ++id)
    rows.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
  Status status = co_await transaction->fetch();
  for (const txn::RowId row : rows) {
    if (status.ok()) transaction->erase(row);
  }
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

// A cluster with a table of many rows, whose transactions may live for so long.
struct Numbers {
  explicit Numbers(std::uint64_t max_transaction_ns) : world(5), cluster(world, options(max_transaction_ns)) {
    cluster.add_compute();
    const Status loaded = run(load_numbers(&cluster.worker(0)));
    INFO(loaded.to_string());
    REQUIRE(loaded.ok());
  }
  static ClusterOptions options(std::uint64_t max_transaction_ns) {
    ClusterOptions options;
    options.memory_servers = 2;
    options.region_bytes = 64U << 20;
    options.memory.extent_bytes = 256U << 10;
    options.memory.journal_bytes = 1U << 20;
    options.memory.max_transaction_ns = max_transaction_ns;
    return options;
  }
  Status run(reactor::Task<Status> task) { return world.run(cluster.node(0), std::move(task)); }

  fabric::sim::SimWorld world;
  Cluster cluster;
};

}  // namespace

TEST_CASE("a table that takes longer to read than a transaction may live gets its index", "[indexes]") {
  std::uint64_t scan_ns = 0;
  {
    Numbers test(10 * kSecond_ns);
    const std::uint64_t before_ns = test.world.now_ns();
    REQUIRE(test.run(scan_numbers(&test.cluster.worker(0))).ok());
    scan_ns = test.world.now_ns() - before_ns;
  }
  Numbers test(scan_ns / 4);
  CHECK(test.run(scan_numbers(&test.cluster.worker(0))).code() == ErrorCode::snapshot_too_old);
  txn::IndexDefinition definition{"by_number", "numbers", {{1, false}}, false};
  const Status built = test.run(test.cluster.worker(0).create_index(std::move(definition)));
  INFO(built.to_string());
  REQUIRE(built.ok());
  std::uint64_t entries = 0;
  for (std::uint32_t i = 0; i < 2; ++i) {
    for (const auto& [id, index] : test.cluster.memory(i).server->indexes().all())
      entries += index->tree->entries();
  }
  CHECK(entries == kManyRows);
  definition = {"only_number", "numbers", {{1, false}}, true};
  CHECK(test.run(test.cluster.worker(0).create_index(std::move(definition))).code() ==
        ErrorCode::duplicate_key);
}

TEST_CASE("nobody looks at the entries that a commit leaves behind, and they are gone soon", "[indexes]") {
  Numbers test(60 * kSecond_ns);
  txn::IndexDefinition definition{"by_number", "numbers", {{1, false}}, false};
  REQUIRE(test.run(test.cluster.worker(0).create_index(std::move(definition))).ok());
  test.world.run_for(5 * kSecond_ns);
  const auto entries = [&] {
    std::uint64_t count = 0;
    for (std::uint32_t i = 0; i < 2; ++i) {
      for (const auto& [id, index] : test.cluster.memory(i).server->indexes().all())
        count += index->tree->entries();
    }
    return count;
  };
  REQUIRE(entries() == kManyRows);
  REQUIRE(test.run(erase_numbers(&test.cluster.worker(0), 20)).ok());
  // The commit says what it left behind: no doubt is left for others.
  test.world.run_for(20 * kMillisecond_ns);
  constexpr std::uint64_t kAnyTime_ns = ~std::uint64_t{0} - 1;
  for (std::uint32_t i = 0; i < 2; ++i)
    CHECK_FALSE(test.cluster.memory(i).server->indexes().doubts().due(kAnyTime_ns));
  test.world.run_for(2 * test.cluster.options().worker.heartbeat_ns);
  CHECK(entries() == kManyRows - 20);
}

TEST_CASE("dropped indexes give their memory back on every memory server", "[indexes]") {
  Numbers test(10 * kSecond_ns);
  for (const char* name : {"by_number", "by_number_again"}) {
    txn::IndexDefinition definition{name, "numbers", {{1, false}}, false};
    REQUIRE(test.run(test.cluster.worker(0).create_index(std::move(definition))).ok());
  }
  for (std::uint32_t i = 0; i < 2; ++i) CHECK(test.cluster.memory(i).server->indexes().all().size() == 2);
  for (const char* name : {"by_number", "by_number_again"})
    REQUIRE(test.run(test.cluster.worker(0).drop_index(name, false)).ok());
  const auto given_back = [&](std::uint32_t i) {
    const memory::MemoryServer& server = *test.cluster.memory(i).server;
    return server.indexes().all().empty() && server.reclaimer().empty();
  };
  test.world.run_until([&] { return given_back(0) && given_back(1); }, 60 * kSecond_ns);
  CHECK(given_back(0));
  CHECK(given_back(1));
}

namespace {

txn::IndexDefinition hash_by_number(bool unique) {
  return {unique ? "only_number" : "by_number", "numbers", {{1, false}}, unique, true};
}

// Ids of the rows with that number, by the index.
reactor::Task<Status> find_numbers(txn::Engine* engine, std::int64_t number, std::vector<std::int64_t>* ids) {
  const auto table = co_await engine->table("numbers");
  if (!table.ok()) co_return table.status();
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  const storage::IndexRef index = (*table)->indexes.front();
  layout::IndexPrefix prefix(index->shape);
  std::vector<txn::RowId> rows;
  txn::IndexRange range = layout::index_range(prefix.integer(number));
  Status status = co_await transaction->find(*table, index, std::move(range), rows);
  for (const txn::RowId row : rows) ids->push_back(transaction->row(row).integer(0));
  co_return status;
}

std::uint64_t hash_entries(Numbers& test) {
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < 2; ++i) {
    const control::StatusReply reply = test.cluster.memory(i).server->status();
    for (const control::IndexUse& use : reply.indexes()) count += use.hash() ? use.entries() : 0;
  }
  return count;
}

std::uint64_t used_bytes(Numbers& test) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < 2; ++i) {
    const control::MemoryReply reply = test.cluster.memory(i).server->memory();
    for (const control::MemoryPart& part : reply.parts())
      bytes += part.purpose() == control::MEMORY_INDEXES ? part.bytes() : 0;
  }
  return bytes;
}

}  // namespace

TEST_CASE("a hash index of a table that takes longer to read than a transaction may live finds its rows",
          "[indexes]") {
  Numbers test(100 * kMillisecond_ns);
  REQUIRE(test.run(test.cluster.worker(0).create_index(hash_by_number(false))).ok());
  std::vector<std::int64_t> ids;
  REQUIRE(test.run(find_numbers(&test.cluster.worker(0), 42, &ids)).ok());
  std::vector<std::int64_t> expected;
  for (std::int64_t id = 42; id < kManyRows; id += 100) expected.push_back(id);
  CHECK(ids == expected);
  CHECK(test.run(test.cluster.worker(0).create_index(hash_by_number(true))).code() ==
        ErrorCode::duplicate_key);
}

TEST_CASE("entries of deleted rows leave a hash index, and a dropped one gives back every byte",
          "[indexes]") {
  Numbers test(10 * kSecond_ns);
  REQUIRE(used_bytes(test) == 0);
  REQUIRE(test.run(test.cluster.worker(0).create_index(hash_by_number(false))).ok());
  test.world.run_until([&] { return hash_entries(test) == kManyRows; }, 60 * kSecond_ns);
  REQUIRE(hash_entries(test) == kManyRows);
  REQUIRE(test.run(erase_numbers(&test.cluster.worker(0), 20)).ok());
  test.world.run_until([&] { return hash_entries(test) == kManyRows - 20; }, 60 * kSecond_ns);
  CHECK(hash_entries(test) == kManyRows - 20);
  const bool with_table = GENERATE(false, true);
  if (with_table) {
    REQUIRE(test.run(test.cluster.worker(0).drop_table("numbers")).ok());
  } else {
    REQUIRE(test.run(test.cluster.worker(0).drop_index("by_number", false)).ok());
  }
  test.world.run_until([&] { return used_bytes(test) == 0; }, 60 * kSecond_ns);
  CHECK(used_bytes(test) == 0);
}

TEST_CASE("an index shows what a full scan shows, at every snapshot", "[indexes]") {
  run_seeds(IndexTrouble::none, 60);
}

TEST_CASE("an index shows what a full scan shows while compute servers die", "[indexes]") {
  run_seeds(IndexTrouble::kills, 60);
}

TEST_CASE("an index shows what a full scan shows while compute servers pause", "[indexes]") {
  run_seeds(IndexTrouble::pauses, 60);
}

TEST_CASE("a run with indexes is decided by its seed", "[indexes]") {
  CHECK(run_indexes(7, IndexTrouble::kills).fingerprint == run_indexes(7, IndexTrouble::kills).fingerprint);
}

}  // namespace namdb::sim
