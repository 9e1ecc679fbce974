// Tables whose rows are placed by some columns of their keys, on several memory servers: where the rows are,
// and that everything that looks for them finds them there.
#include <catch2/catch.hpp>
#include <map>

#include "common/layout/key.h"
#include "common/layout/placement.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kServers = 3;
constexpr std::int64_t kWarehouses = 5;
constexpr std::int64_t kDistricts = 120;

// (district, warehouse, value), the key being the first two and the place the second.
layout::Schema placed(layout::ColumnType warehouse) {
  std::vector<layout::Column> columns(3);
  columns[0] = {.name = "d"};
  columns[1] = {.name = "w", .type = warehouse};
  columns[2] = {.name = "value"};
  return std::move(*layout::Schema::create(std::move(columns), {0, 1}, {1}));
}

ClusterOptions three_servers() {
  ClusterOptions options;
  options.memory_servers = kServers;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  return options;
}

// They borrow the schema.
std::vector<layout::Row> rows_of(const layout::Schema& schema) {
  std::vector<layout::Row> rows;
  for (std::int64_t warehouse = 1; warehouse <= kWarehouses; ++warehouse) {
    for (std::int64_t district = 0; district < kDistricts; ++district) {
      layout::Row& row = rows.emplace_back(schema);
      REQUIRE(row.writer().set_integer(0, district).ok());
      REQUIRE(row.writer().set_integer(1, warehouse).ok());
      REQUIRE(row.writer().set_integer(2, 1000 * warehouse + district).ok());
    }
  }
  return rows;
}

// Two tables; the second with a unique index on the values. Both begin with few buckets.
reactor::Task<Status> fill(compute::Worker* worker, const std::vector<layout::Row>* rows,
                           const std::vector<layout::Row>* others) {
  txn::TableDefinition first{
      .name = "first", .schema = placed(layout::ColumnType::bigint), .size_hint_rows = 30, .ring_slots = 2};
  txn::TableDefinition second{.name = "second",
                              .schema = placed(layout::ColumnType::smallint),
                              .size_hint_rows = 30,
                              .ring_slots = 2,
                              .unique = {{"second_value", {2}}}};
  if (Status status = co_await worker->create_table(std::move(first)); !status.ok()) co_return status;
  if (Status status = co_await worker->create_table(std::move(second)); !status.ok()) co_return status;
  if (Status status = co_await put_rows(*worker, "first", rows); !status.ok()) co_return status;
  co_return co_await put_rows(*worker, "second", others);
}

reactor::Task<Status> erase_warehouse(compute::Worker* worker, std::string name, std::int64_t warehouse) {
  auto table = co_await worker->table(std::move(name));
  if (!table.ok()) co_return table.status();
  const auto session = worker->open_session();
  const auto transaction = worker->begin(*session);
  std::vector<txn::RowId> rows;
  for (std::int64_t district = 0; district < kDistricts; ++district) {
    const layout::Key key = std::move(layout::Key((*table)->schema).integer(district).integer(warehouse));
    rows.push_back(transaction->get(*table, key.bytes()));
  }
  Status status = co_await transaction->fetch();
  for (const txn::RowId row : rows) {
    if (status.ok() && !transaction->found(row)) status = Status(ErrorCode::internal, "a row is not found");
    if (status.ok()) transaction->erase(row);
  }
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

reactor::Task<Status> pass_time(reactor::Executor* executor, std::uint64_t duration_ns) {
  co_await executor->sleep_for(duration_ns);
  co_return Status();
}

reactor::Task<Status> count_rows(compute::Worker* worker, std::string name, std::uint64_t* count) {
  auto table = co_await worker->table(std::move(name));
  if (!table.ok()) co_return table.status();
  const auto session = worker->open_session();
  const auto transaction = worker->begin(*session);
  std::vector<layout::Row> rows;
  Status status = co_await scan_rows(*worker, *transaction, *table, 0, &rows);
  *count = rows.size();
  co_return status;
}

}  // namespace

TEST_CASE(
    "rows with the same partition value are on one memory server, and are found, grown and reclaimed there",
    "[placement]") {
  fabric::sim::SimWorld world(3);
  Cluster cluster(world, three_servers());
  cluster.add_compute();
  compute::Worker& worker = cluster.worker(0);
  const auto run = [&](reactor::Task<Status> task) {
    const Status status = world.run(cluster.node(0), std::move(task));
    INFO(status.to_string());
    REQUIRE(status.ok());
  };
  const layout::Schema wide = placed(layout::ColumnType::bigint);
  const layout::Schema narrow = placed(layout::ColumnType::smallint);
  const std::vector<layout::Row> rows = rows_of(wide);
  const std::vector<layout::Row> others = rows_of(narrow);
  run(fill(&worker, &rows, &others));
  run(erase_warehouse(&worker, "first", 2));
  run(pass_time(&worker.executor(), 200 * kSecond_ns));
  std::uint64_t count = 0;
  run(count_rows(&worker, "first", &count));
  CHECK(count == (kWarehouses - 1) * kDistricts);
  run(count_rows(&worker, "second", &count));
  CHECK(count == kWarehouses * kDistricts);

  REQUIRE(cluster.stop_compute(0, 10 * kSecond_ns));
  // Of all records and chains: that they are where their hashes say.
  CHECK(cluster.check_at_rest(10 * kSecond_ns) == "");
  std::map<std::uint64_t, std::uint64_t> wanted;
  for (std::int64_t warehouse = 1; warehouse <= kWarehouses; ++warehouse) {
    const std::uint64_t server = layout::partition_server(layout::partition_hash(warehouse), kServers);
    wanted[server] += static_cast<std::uint64_t>(warehouse == 2 ? kDistricts : 2 * kDistricts);
  }
  REQUIRE(wanted.size() > 1);
  std::uint64_t doublings = 0;
  for (std::uint64_t server = 0; server < kServers; ++server) {
    std::uint64_t records = 0;
    for (const std::uint32_t id : {1U, 2U}) {
      const memory::TablePointer table = cluster.memory(server).server->tables().find(id);
      REQUIRE(table);
      REQUIRE(table->shape.schema.partition() == std::vector<std::uint32_t>{1});
      records += table->records.used_count();
      doublings += table->doublings();
    }
    INFO("memory server " << server);
    CHECK(records == wanted[server]);
  }
  CHECK(doublings > 0);
}

}  // namespace namdb::sim
