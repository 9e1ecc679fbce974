// Indexes in several parts, each on a memory server of its own, and rebuilding them.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <optional>

#include "common/layout/index_key.h"
#include "common/protocols/protocol.h"
#include "compute/schema/index_split.h"
#include "proto/control.pb.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace index_parts_test {

using Numbers = std::vector<std::pair<std::int64_t, std::int64_t>>;  // ids and numbers

constexpr const char* kTable = "numbers";
constexpr std::uint64_t kPatience_ns = 60 * kSecond_ns;

reactor::Task<Status> put_numbers(txn::Engine* engine, Numbers numbers) {
  const layout::Schema schema = bigints({"id", "number"});
  std::vector<layout::Row> rows;
  for (const auto& [id, number] : numbers) {
    layout::Row& row = rows.emplace_back(schema);
    NAMDB_CHECK(row.writer().set_integer(0, id).ok() && row.writer().set_integer(1, number).ok());
  }
  co_return co_await put_rows(*engine, kTable, &rows);
}

// In one transaction; the index may only be found out about by the commit.
reactor::Task<Status> insert_number(txn::Engine* engine, std::int64_t id, std::int64_t number) {
  const auto table = co_await engine->table(kTable);
  if (!table.ok()) co_return table.status();
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  layout::Row row((*table)->schema);
  NAMDB_CHECK(row.writer().set_integer(0, id).ok() && row.writer().set_integer(1, number).ok());
  transaction->insert(*table, row.bytes());
  if (Status status = co_await transaction->fetch(); !status.ok()) co_return status;
  co_return co_await transaction->commit();
}

txn::IndexRange between(const layout::IndexShape& shape, std::int64_t low, std::int64_t high) {
  txn::IndexRange range;
  range.low = layout::IndexPrefix(shape).integer(low).bytes();
  range.high = layout::IndexPrefix(shape).integer(high).bytes();
  return range;
}

struct Subject {
  explicit Subject(std::uint32_t memory_servers, txn::IndexReads reads = txn::IndexReads::leaves,
                   std::uint64_t balance_bytes = 0, std::string_view protocol = protocol::kDefaultProtocol)
      : world(3), cluster(world, options(memory_servers, reads, balance_bytes, protocol)) {
    cluster.add_compute();
    cluster.add_compute();
    REQUIRE(run(create_table(engine(), kTable, bigints({"id", "number"}), 1000, 0)).ok());
  }
  static ClusterOptions options(std::uint32_t memory_servers, txn::IndexReads reads,
                                std::uint64_t balance_bytes, std::string_view protocol) {
    ClusterOptions options;
    options.memory_servers = memory_servers;
    options.region_bytes = 32U << 20;
    options.memory.extent_bytes = 256U << 10;
    options.memory.journal_bytes = 1U << 20;
    options.memory.protocol = protocol;
    options.worker.index_reads = reads;
    options.worker.balance_bytes = balance_bytes;
    options.worker.balance_interval_ns = kSecond_ns;
    return options;
  }
  compute::Worker& engine(std::size_t i = 0) { return cluster.worker(i); }
  Status run(reactor::Task<Status> task) { return world.run(cluster.node(0), std::move(task)); }
  Status create_index(bool unique) {
    txn::IndexDefinition definition{"by_number", kTable, {{1, false}}, unique};
    return run(engine().create_index(std::move(definition)));
  }
  // How many entries each memory server has, of all indexes.
  std::vector<std::uint64_t> entries() {
    std::vector<std::uint64_t> counts;
    for (std::uint32_t i = 0; i < cluster.options().memory_servers; ++i) {
      counts.push_back(0);
      for (const auto& [id, index] : cluster.memory(i).server->indexes().all())
        counts.back() += index->tree->entries();
    }
    return counts;
  }
  std::vector<std::uint64_t> bytes() {
    std::vector<std::uint64_t> sums;
    for (std::uint32_t i = 0; i < cluster.options().memory_servers; ++i) {
      sums.push_back(0);
      for (const auto& [id, index] : cluster.memory(i).server->indexes().all())
        sums.back() += index->tree->pages().used_bytes();
    }
    return sums;
  }
  control::IndexDescriptor in_catalog() {
    return cluster.memory(0).server->catalog()->indexes().at("by_number");
  }
  // As many as there are memory servers, or fewer.
  std::size_t parts() { return static_cast<std::size_t>(in_catalog().parts_size()); }
  bool one_is_left() {
    if (!cluster.memory(0).server->catalog()->indexes_beside().empty()) return false;
    for (std::uint32_t i = 0; i < cluster.options().memory_servers; ++i) {
      for (const auto& [id, index] : cluster.memory(i).server->indexes().all()) {
        if (id != in_catalog().id()) return false;
      }
    }
    return true;
  }

  fabric::sim::SimWorld world;
  Cluster cluster;
};

// Looks for ranges all over the numbers, forwards and backwards, with limits and without.
reactor::Task<Status> compare_ranges(txn::Engine* engine, Numbers numbers, std::string* mistake) {
  const auto table = co_await engine->table(kTable);
  if (!table.ok()) co_return table.status();
  const storage::IndexRef index = (*table)->indexes.front();
  const auto comes_before = [](const auto& left, const auto& right) {
    return std::pair(left.second, left.first) < std::pair(right.second, right.first);
  };
  std::ranges::sort(numbers, comes_before);
  const std::array<std::uint64_t, 3> limits = {0, 1, 100};
  const std::int64_t end = numbers.back().second + 1;
  const std::int64_t step = std::max<std::int64_t>(end / 7, 1);
  const auto session = engine->open_session();
  for (std::int64_t low = 0; low < end; low += step) {
    for (std::int64_t high = low; high <= end; high += step) {
      for (const std::uint64_t limit : limits) {
        for (const bool descending : {false, true}) {
          txn::IndexRange range = between(index->shape, low, high);
          range.descending = descending;
          range.limit = limit;
          std::vector<std::int64_t> expected;
          for (const auto& [id, number] : numbers) {
            if (number >= low && number < high) expected.push_back(id);
          }
          if (descending) std::ranges::reverse(expected);
          if (limit != 0 && limit < expected.size()) expected.resize(limit);
          const auto transaction = engine->begin(*session);
          std::vector<txn::RowId> rows;
          Status status = co_await transaction->find(*table, index, std::move(range), rows);
          if (!status.ok()) co_return status;
          std::vector<std::int64_t> found;
          for (const txn::RowId row : rows) found.push_back(transaction->row(row).integer(0));
          if (found != expected) {
            *mistake = "[" + std::to_string(low) + ", " + std::to_string(high) + ") limit " +
                       std::to_string(limit) + (descending ? " downwards" : "") + ": " +
                       std::to_string(found.size()) + " rows of " + std::to_string(expected.size());
          }
        }
      }
    }
  }
  co_return Status();
}

Numbers scattered(std::int64_t count) {
  Numbers numbers;
  for (std::int64_t id = 0; id < count; ++id) numbers.emplace_back(id, id * 7919 % 1000);
  return numbers;
}

TEST_CASE("an index waits for no heartbeat of the compute server that builds it, and for one of each other",
          "[index_parts]") {
  ClusterOptions options = Subject::options(1, txn::IndexReads::leaves, 0, protocol::kDefaultProtocol);
  options.worker.heartbeat_ns = kSecond_ns;
  const bool alone = GENERATE(true, false);
  fabric::sim::SimWorld world(3);
  Cluster cluster(world, options);
  cluster.add_compute();
  if (!alone) cluster.add_compute();
  compute::Worker& engine = cluster.worker(0);
  REQUIRE(world.run(cluster.node(0), create_table(engine, kTable, bigints({"id", "number"}), 1000, 0)).ok());
  const std::uint64_t began_ns = cluster.node(0).now_ns();
  txn::IndexDefinition definition{"by_number", kTable, {{1, false}}, false};
  REQUIRE(world.run(cluster.node(0), engine.create_index(std::move(definition))).ok());
  const std::uint64_t took_ns = cluster.node(0).now_ns() - began_ns;
  CHECK(took_ns < (alone ? kSecond_ns / 10 : options.worker.heartbeat_ns + kSecond_ns / 10));
}

TEST_CASE("an index over many rows has as large a part on each memory server", "[index_parts]") {
  const auto servers = static_cast<std::uint32_t>(GENERATE(2, 3, 5));
  Subject test(servers, GENERATE(txn::IndexReads::calls, txn::IndexReads::leaves));
  const Numbers numbers = scattered(3000);
  REQUIRE(test.run(put_numbers(&test.engine(), numbers)).ok());
  REQUIRE(test.create_index(false).ok());
  CHECK(test.parts() == servers);
  for (const std::uint64_t count : test.entries()) {
    CHECK(count > 3000 / servers * 95 / 100);
    CHECK(count < 3000 / servers * 105 / 100 + 1);
  }
  std::string mistake;
  REQUIRE(test.run(compare_ranges(&test.engine(1), numbers, &mistake)).ok());
  CHECK(mistake.empty());
}

TEST_CASE("an index over few rows has one part", "[index_parts]") {
  Subject test(3);
  REQUIRE(test.run(put_numbers(&test.engine(), scattered(200))).ok());
  REQUIRE(test.create_index(false).ok());
  CHECK(test.parts() == 1);
}

TEST_CASE("of a unique index the entries with the same values are in one part", "[index_parts]") {
  Subject test(2);
  Numbers numbers;
  for (std::int64_t id = 0; id < 300; ++id) numbers.emplace_back(id, id);
  SECTION("so that two rows where its parts would meet are found when it is built") {
    numbers[150].second = 149;
    REQUIRE(test.run(put_numbers(&test.engine(), numbers)).ok());
    CHECK(test.create_index(true).code() == ErrorCode::duplicate_key);
  }
  SECTION("so that no other row gets a value that is there") {
    REQUIRE(test.run(put_numbers(&test.engine(), numbers)).ok());
    REQUIRE(test.create_index(true).ok());
    REQUIRE(test.parts() == 2);
    for (std::int64_t number = 0; number < 300; ++number) {
      CHECK(test.run(insert_number(&test.engine(), -1 - number, number)).code() == ErrorCode::duplicate_key);
      CHECK(test.run(insert_number(&test.engine(), 1000 + number, number)).code() ==
            ErrorCode::duplicate_key);
    }
  }
}

TEST_CASE("a rebuilt index has parts as its table is now, and nothing of the old one stays",
          "[index_parts]") {
  Subject test(3);
  const bool unique = GENERATE(false, true);
  REQUIRE(test.create_index(unique).ok());
  Numbers numbers;
  for (std::int64_t id = 0; id < 1500; ++id) numbers.emplace_back(id, id * 11);
  REQUIRE(test.run(put_numbers(&test.engine(), numbers)).ok());
  const control::IndexDescriptor before = test.in_catalog();
  REQUIRE(before.parts_size() == 1);
  REQUIRE(test.run(test.engine(1).rebuild_index("by_number")).ok());
  CHECK(test.in_catalog().id() > before.id());
  CHECK(test.in_catalog().unique() == unique);
  CHECK(test.in_catalog().state() == control::INDEX_READY);
  CHECK(test.parts() == 3);
  test.world.run_until([&] { return test.one_is_left(); }, kPatience_ns);
  CHECK(test.one_is_left());
  for (const std::uint64_t count : test.entries()) {
    CHECK(count > 450);
    CHECK(count < 550);
  }
  std::string mistake;
  REQUIRE(test.run(compare_ranges(&test.engine(), numbers, &mistake)).ok());
  CHECK(mistake.empty());
  const Status again = test.run(insert_number(&test.engine(), 5000, 11));
  CHECK(again.ok() == !unique);
  CHECK(test.run(test.engine().rebuild_index("nosuch")).code() == ErrorCode::undefined_object);
}

TEST_CASE("an index whose parts are uneven is rebuilt by one compute server, and not again soon",
          "[index_parts]") {
  constexpr std::uint64_t kLeast_bytes = 4096;
  Subject test(5, txn::IndexReads::leaves, kLeast_bytes);
  REQUIRE(test.create_index(false).ok());
  const std::uint32_t first = test.in_catalog().id();
  test.world.run_for(5 * kSecond_ns);
  CHECK(test.in_catalog().id() == first);  // it has no keys
  const auto add = [&test](std::int64_t begin, std::int64_t end) {
    Numbers numbers;
    for (std::int64_t id = begin; id < end; ++id) numbers.emplace_back(id, id);
    REQUIRE(test.run(put_numbers(&test.engine(), std::move(numbers))).ok());
  };
  add(0, 1500);
  test.world.run_until([&] { return test.parts() == 5 && test.one_is_left(); }, kPatience_ns);
  const std::uint32_t second = test.in_catalog().id();
  // Others were not even begun.
  CHECK(second == first + 1);
  REQUIRE(test.one_is_left());
  // Greater numbers all go to the last part, but the index has not doubled.
  add(1500, 2100);
  CHECK(schema::out_of_balance(test.bytes(), 0, kLeast_bytes));
  test.world.run_for(10 * kSecond_ns);
  CHECK(test.in_catalog().id() == second);
  add(2100, 5000);
  test.world.run_until([&] { return test.in_catalog().id() != second && test.one_is_left(); }, kPatience_ns);
  CHECK(test.in_catalog().id() == second + 1);
  CHECK_FALSE(schema::out_of_balance(test.bytes(), 0, kLeast_bytes));
}

TEST_CASE("a hash index is not rebuilt", "[index_parts]") {
  Subject test(2);
  txn::IndexDefinition definition{"by_number", kTable, {{1, false}}, false, true};
  REQUIRE(test.run(test.engine().create_index(std::move(definition))).ok());
  CHECK(test.run(test.engine().rebuild_index("by_number")).code() == ErrorCode::feature_not_supported);
}

reactor::Task<void> rebuild(txn::Engine* builder, std::optional<Status>* ended) {
  *ended = co_await builder->rebuild_index("by_number");
}

// Until its first entry is there: older transactions than that are waited for, and cannot see the end of it.
void begin_rebuild(Subject& test, reactor::Gate& gate, std::optional<Status>* ended) {
  const auto count = [&test] {
    const std::vector<std::uint64_t> entries = test.entries();
    return std::accumulate(entries.begin(), entries.end(), std::uint64_t{0});
  };
  const std::uint64_t before = count();
  test.cluster.node(1).spawn(gate, rebuild(&test.engine(1), ended));
  test.world.run_until([&] { return count() > before; }, kPatience_ns);
}

// The first ten numbers by the index, in a transaction that begins while it is rebuilt and searches when that
// has ended; the round trips of that search alone.
reactor::Task<Status> find_across_rebuild(txn::Engine* reader, txn::Engine* builder,
                                          const std::optional<Status>* rebuilt, bool by_new_index,
                                          std::vector<std::int64_t>* ids, std::uint64_t* round_trips) {
  const auto table = co_await reader->table(kTable);
  if (!table.ok()) co_return table.status();
  const auto session = reader->open_session();
  const auto transaction = reader->begin(*session);
  const txn::RowId seen = transaction->get(*table, key_of((*table)->schema, 3).bytes());
  Status status = co_await transaction->fetch();
  if (status.ok() && !transaction->found(seen)) status = Status(ErrorCode::internal, "row 3 is not there");
  const storage::IndexRef old_index = (*table)->indexes.front();
  if (*rebuilt) co_return Status(ErrorCode::internal, "the index is rebuilt already");
  while (!*rebuilt) co_await reader->executor().sleep_for(kMillisecond_ns);
  // So long that every worker has said that it knows of the new one.
  co_await reader->executor().sleep_for(kSecond_ns);
  if (status.ok()) status = **rebuilt;
  // Rows that the old index does not get.
  if (status.ok()) status = co_await insert_number(builder, 20'000, -5);
  if (status.ok()) status = co_await insert_number(reader, 20'001, -4);
  if (!status.ok()) co_return status;
  const storage::IndexRef new_index = (*table)->indexes.back();
  if (new_index->id == old_index->id || (*table)->indexes.size() != 2)
    co_return Status(ErrorCode::internal, "there are not two indexes");
  const std::uint64_t before = transaction->counters().round_trips;
  txn::IndexRange range = between(old_index->shape, -10, 1000);
  range.limit = 10;
  std::vector<txn::RowId> rows;
  status = co_await transaction->find(*table, by_new_index ? new_index : old_index, std::move(range), rows);
  *round_trips = transaction->counters().round_trips - before;
  for (const txn::RowId row : rows) ids->push_back(transaction->row(row).integer(0));
  co_return status;
}

TEST_CASE("a snapshot that is older than a rebuilt index is shown what the former one has", "[index_parts]") {
  Subject test(2);
  Numbers numbers;
  for (std::int64_t id = 0; id < 3000; ++id) numbers.emplace_back(id, id);
  REQUIRE(test.run(put_numbers(&test.engine(), numbers)).ok());
  REQUIRE(test.create_index(false).ok());
  std::vector<std::int64_t> ids;
  std::uint64_t round_trips = 0;
  const bool by_new_index = GENERATE(false, true);
  std::optional<Status> rebuilt;
  reactor::Gate gate;
  begin_rebuild(test, gate, &rebuilt);
  const Status status = test.run(
      find_across_rebuild(&test.engine(), &test.engine(1), &rebuilt, by_new_index, &ids, &round_trips));
  INFO(status.to_string());
  REQUIRE(status.ok());
  CHECK(ids == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  // The whole table takes many times that.
  CHECK(round_trips <= 5);
  test.world.run_until([&] { return test.one_is_left(); }, kPatience_ns);
  CHECK(test.one_is_left());
  numbers.emplace_back(20'000, -5);
  numbers.emplace_back(20'001, -4);
  std::string mistake;
  REQUIRE(test.run(compare_ranges(&test.engine(), numbers, &mistake)).ok());
  CHECK(mistake.empty());
}

// Reads a range while the index is rebuilt; when that has ended another transaction adds a row to it, and
// then this one commits something else.
reactor::Task<Status> miss_row_across_rebuild(txn::Engine* reader, txn::Engine* builder,
                                              const std::optional<Status>* rebuilt) {
  const auto table = co_await reader->table(kTable);
  if (!table.ok()) co_return table.status();
  const auto session = reader->open_session();
  const auto transaction = reader->begin(*session);
  const storage::IndexRef index = (*table)->indexes.front();
  txn::IndexRange range = between(index->shape, 0, 10);
  std::vector<txn::RowId> rows;
  Status status = co_await transaction->find(*table, index, std::move(range), rows);
  if (!status.ok()) co_return status;
  if (rows.size() != 10 || *rebuilt) co_return Status(ErrorCode::internal, "the index is rebuilt already");
  while (!*rebuilt) co_await reader->executor().sleep_for(kMillisecond_ns);
  status = **rebuilt;
  if (status.ok()) status = co_await insert_number(builder, 20'000, 5);
  if (!status.ok()) co_return Status(ErrorCode::internal, status.to_string());
  layout::Row row((*table)->schema);
  NAMDB_CHECK(row.writer().set_integer(0, 20'001).ok() && row.writer().set_integer(1, 10'000).ok());
  transaction->insert(*table, row.bytes());
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

TEST_CASE("a reader of a range of an index is told of rows that only the one in its place has",
          "[index_parts]") {
  Subject test(2, GENERATE(txn::IndexReads::calls, txn::IndexReads::leaves), 0, "occ");
  Numbers numbers;
  for (std::int64_t id = 0; id < 3000; ++id) numbers.emplace_back(id, id);
  REQUIRE(test.run(put_numbers(&test.engine(), numbers)).ok());
  REQUIRE(test.create_index(false).ok());
  std::optional<Status> rebuilt;
  reactor::Gate gate;
  begin_rebuild(test, gate, &rebuilt);
  const Status status = test.run(miss_row_across_rebuild(&test.engine(), &test.engine(1), &rebuilt));
  INFO(status.to_string());
  REQUIRE_FALSE(status.ok());
  CHECK(status.code() == ErrorCode::serialization_failure);
}

}  // namespace index_parts_test
}  // namespace namdb::sim
