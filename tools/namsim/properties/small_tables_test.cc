// Small tables and killed compute servers take little of the memory servers' regions, and a full region still
// serves.
#include <catch2/catch.hpp>

#include "compute/api/transaction.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

const std::uint64_t kSizeHint_rows = txn::TableDefinition().size_hint_rows;

std::uint64_t used_bytes(Cluster& cluster) {
  std::uint64_t bytes = 0;
  for (std::uint32_t server = 0; server < cluster.options().memory_servers; ++server) {
    const memory::RegionUse use = cluster.memory(server).server->use();
    bytes += use.table_bytes + use.index_bytes + use.overflow_bytes;
  }
  return bytes;
}

// Rows from `first` on, each in a transaction of its own. Ends with the first error.
reactor::Task<Status> insert_rows(compute::Worker* worker, std::string name, std::int64_t first,
                                  std::int64_t count) {
  const auto session = worker->open_session();
  auto table = co_await worker->table(std::move(name));
  if (!table.ok()) co_return table.status();
  for (std::int64_t id = first; id < first + count; ++id) {
    const auto transaction = worker->begin(*session);
    Status status = insert_pair(*transaction, *table, id, id);
    if (status.ok()) status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->commit();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

// Updates one row so often, as a statement does that the server tries again after a conflict.
reactor::Task<Status> update_row(compute::Worker* worker, std::string name, int times) {
  const auto session = worker->open_session();
  auto table = co_await worker->table(std::move(name));
  if (!table.ok()) co_return table.status();
  for (int i = 0; i < times; ++i) {
    for (std::uint32_t attempt = 1;; ++attempt) {
      const auto transaction = worker->begin(*session);
      const txn::RowId row = transaction->get(*table, key_of((*table)->schema, 0).bytes());
      Status status = co_await transaction->fetch();
      if (status.ok()) status = transaction->update(row).set_integer(1, i);
      if (status.ok()) status = co_await transaction->commit();
      if (status.ok()) break;
      if (!status.info().retry || attempt == worker->retry_options().max_attempts) co_return status;
      co_await worker->backoff(attempt);
    }
  }
  co_return Status();
}

layout::Schema texts() {
  std::vector<layout::Column> columns = {
      {.name = "id"}, {.name = "value"}, {.name = "text", .type = layout::ColumnType::varchar}};
  columns[2].length_bytes = 256;
  return std::move(*layout::Schema::create(std::move(columns), {0}));
}

// A region with a table that has no room for another row.
struct FullRegion {
  FullRegion() : world(1), cluster(world, small()), worker((cluster.add_compute(), cluster.worker(0))) {
    REQUIRE(world.run(cluster.node(0), create_table(worker, "t", texts(), kSizeHint_rows, 0)).ok());
    const Status full = world.run(cluster.node(0), insert_rows(&worker, "t", 0, 1'000'000));
    REQUIRE(full.code() == ErrorCode::out_of_memory);
  }
  static ClusterOptions small() {
    ClusterOptions options;
    options.region_bytes = 2U << 20;
    options.memory.extent_bytes = 64U << 10;
    options.memory.journal_bytes = 128U << 10;
    options.memory.vector_capacity = 64;
    return options;
  }

  fabric::sim::SimWorld world;
  Cluster cluster;
  compute::Worker& worker;
};

}  // namespace

TEST_CASE("a table with a row takes kilobytes, and 500 of them fit a small region and leave it", "[small]") {
  for (const std::uint32_t servers : {1U, 2U}) {
    fabric::sim::SimWorld world(servers);
    ClusterOptions options;
    options.memory_servers = servers;
    options.region_bytes = 64U << 20;
    options.memory.journal_bytes = 128U << 10;
    Cluster cluster(world, options);
    cluster.add_compute();
    compute::Worker& worker = cluster.worker(0);
    const auto free_bytes = [&] { return cluster.memory(0).server->use().free_bytes; };
    // As many as let the compute server have a journal on each memory server.
    for (int i = 0; i < 8; ++i) {
      REQUIRE(world.run(cluster.node(0), create_table(worker, "first", texts(), kSizeHint_rows, 0)).ok());
      REQUIRE(world.run(cluster.node(0), insert_rows(&worker, "first", 0, 1)).ok());
      INFO(used_bytes(cluster) << " bytes of " << servers);
      CHECK(used_bytes(cluster) < servers * (64U << 10));
      REQUIRE(world.run(cluster.node(0), worker.drop_table("first")).ok());
      REQUIRE(world.run_until([&] { return used_bytes(cluster) == 0; }, 10 * kSecond_ns));
    }
    const std::uint64_t before = free_bytes();
    constexpr int kTables = 500;
    for (int i = 0; i < kTables; ++i) {
      const std::string name = "t" + std::to_string(i);
      REQUIRE(world.run(cluster.node(0), create_table(worker, name, texts(), kSizeHint_rows, 0)).ok());
      const Status inserted = world.run(cluster.node(0), insert_rows(&worker, name, 0, 1));
      INFO(inserted.to_string());
      REQUIRE(inserted.ok());
    }
    CHECK(used_bytes(cluster) < servers * kTables * (64U << 10));
    for (int i = 0; i < kTables; ++i)
      REQUIRE(world.run(cluster.node(0), worker.drop_table("t" + std::to_string(i))).ok());
    REQUIRE(world.run_until([&] { return used_bytes(cluster) == 0; }, 10 * kSecond_ns));
    CHECK(free_bytes() == before);
    REQUIRE(cluster.stop_compute(0, 60 * kSecond_ns));
    const std::string wrong = cluster.check_at_rest(60 * kSecond_ns);
    INFO(wrong);
    CHECK(wrong.empty());
  }
}

TEST_CASE("a hundred tables come and go in a region that has room for a few", "[small]") {
  fabric::sim::SimWorld world(1);
  Cluster cluster(world, FullRegion::small());
  cluster.add_compute();
  compute::Worker& worker = cluster.worker(0);
  // A table's buckets alone take 256 KiB of 2 MiB. Only a statement that needs the memory of a dropped table
  // waits until that is free again.
  for (int i = 0; i < 100; ++i) {
    const std::string name = "t" + std::to_string(i);
    const Status created = world.run(cluster.node(0), create_table(worker, name, texts(), 8192, 0));
    INFO(i << ": " << created.to_string());
    REQUIRE(created.ok());
    REQUIRE(world.run(cluster.node(0), insert_rows(&worker, name, 0, 1)).ok());
    REQUIRE(world.run(cluster.node(0), worker.drop_table(name)).ok());
  }
  REQUIRE(world.run_until([&] { return used_bytes(cluster) == 0; }, 10 * kSecond_ns));
}

TEST_CASE_METHOD(FullRegion, "a row of a full region is updated ten thousand times", "[small]") {
  const Status updated = world.run(cluster.node(0), update_row(&worker, "t", 10'000));
  INFO(updated.to_string());
  CHECK(updated.ok());
  CHECK(cluster.memory(0).server->region().extents().free_count() <= 1);
  REQUIRE(cluster.stop_compute(0, 60 * kSecond_ns));
  const std::string wrong = cluster.check_at_rest(60 * kSecond_ns);
  INFO(wrong);
  CHECK(wrong.empty());
}

TEST_CASE_METHOD(FullRegion,
                 "a row of a full region is not updated while a snapshot keeps all that it displaces",
                 "[small]") {
  const auto table = worker.cached_table("t");
  const auto session = worker.open_session();
  auto reader = worker.begin(*session);
  const txn::RowId row = reader->get(table, key_of(table->schema, 0).bytes());
  REQUIRE(world.run(cluster.node(0), reader->fetch()).ok());
  const std::uint64_t begun_ns = world.now_ns();
  Status updated;
  while (updated.ok() && world.now_ns() < begun_ns + 30 * kSecond_ns)
    updated = world.run(cluster.node(0), update_row(&worker, "t", 1000));
  INFO(updated.to_string());
  CHECK(updated.code() == ErrorCode::out_of_memory);
  CHECK(reader->found(row));
  reader.reset();
  CHECK(
      world.run_until([&] { return cluster.memory(0).server->use().overflow_bytes == 0; }, 10 * kSecond_ns));
  CHECK(world.run(cluster.node(0), update_row(&worker, "t", 1000)).ok());
}

TEST_CASE("200 starts of compute servers that are killed leave room for others, long before E", "[small]") {
  fabric::sim::SimWorld world(1);
  ClusterOptions options;
  options.region_bytes = 64U << 20;
  options.memory.max_transaction_ns = 3600 * kSecond_ns;
  Cluster cluster(world, options);
  cluster.add_compute();
  REQUIRE(world.run(cluster.node(0), create_table(cluster.worker(0), "t", texts(), kSizeHint_rows, 0)).ok());
  for (std::int64_t start = 0; start < 200; ++start) {
    const std::size_t compute = cluster.add_compute();
    const Status inserted =
        world.run(cluster.node(compute), insert_rows(&cluster.worker(compute), "t", start, 1));
    INFO(start << ": " << inserted.to_string());
    REQUIRE(inserted.ok());
    cluster.kill_compute(compute);
    REQUIRE(cluster.memory(0).server->use().journal_bytes <= 16U << 20);
  }
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::size_t compute = cluster.add_compute();
    REQUIRE(world.run(cluster.node(compute), insert_rows(&cluster.worker(compute), "t", 1000 + i, 1)).ok());
  }
}

}  // namespace namdb::sim
