// Regions that grow while transactions run (memory/region/region.h): compute servers that were there before
// meet addresses that did not exist when they connected.
#include <catch2/catch.hpp>

#include "compute/api/transaction.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/seeds.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace region_growth_test {

constexpr std::int64_t kRows = 1500;

std::vector<layout::Row> rows_of(const layout::Schema& schema, std::int64_t first, std::int64_t count) {
  std::vector<layout::Row> rows;
  for (std::int64_t id = first; id < first + count; ++id) {
    layout::Row row(schema);
    REQUIRE(row.writer().set_integer(0, id).ok());
    REQUIRE(row.writer().set_integer(1, 3 * id).ok());
    rows.push_back(std::move(row));
  }
  return rows;
}

// How many of the rows a point lookup of each finds with the right value.
reactor::Task<Result<std::int64_t>> count_rows(compute::Worker* worker, std::string name,
                                               std::int64_t count) {
  const auto session = worker->open_session();
  auto table = co_await worker->table(name);
  if (!table.ok()) co_return table.status();
  std::int64_t right = 0;
  for (std::int64_t id = 0; id < count; ++id) {
    const auto transaction = worker->begin(*session);
    const txn::RowId row =
        transaction->get(*table, std::move(layout::Key((*table)->schema).integer(id)).bytes());
    const Status status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    right += transaction->found(row) && transaction->row(row).integer(1) == 3 * id ? 1 : 0;
  }
  co_return right;
}

// Rows are inserted at one compute server and updated and read at another one that is told nothing.
void grow_under_two(std::uint64_t seed) {
  Random draw(seed * 32'452'867);
  fabric::sim::SimWorld world(seed, fabric::sim::SimOptions::swarm(draw));
  ClusterOptions options;
  options.growing_regions = true;
  options.region_bytes = 4U << 20;
  options.memory_servers = static_cast<std::uint32_t>(draw.between(1, 2));
  options.memory.extent_bytes = draw.chance(0.5) ? 16U << 10 : 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.ring_slots = 1;
  Cluster cluster(world, options);
  cluster.add_compute();
  cluster.add_compute();
  const std::uint64_t first_bytes = cluster.memory(0).server->region().bytes();
  const layout::Schema schema = bigints({"id", "value"});
  REQUIRE(world.run(cluster.node(0), create_table(cluster.worker(0), "rows", schema, 16, 1)).ok());
  REQUIRE(world.run(cluster.node(1), count_rows(&cluster.worker(1), "rows", 1)).ok());
  const auto rows = rows_of(schema, 0, kRows);
  Status status = world.run(cluster.node(0), put_rows(cluster.worker(0), "rows", &rows));
  INFO("seed " << seed << ": " << status.to_string());
  REQUIRE(status.ok());
  status = world.run(cluster.node(1), touch_rows(cluster.worker(1), "rows"));
  INFO(status.to_string());
  REQUIRE(status.ok());
  for (const std::size_t compute : {0, 1}) {
    const auto right = world.run(cluster.node(compute), count_rows(&cluster.worker(compute), "rows", kRows));
    INFO(right.status().to_string());
    REQUIRE(right.ok());
    REQUIRE(*right == kRows);
  }
  for (std::uint32_t server = 0; server < options.memory_servers; ++server) {
    const memory::Region& region = cluster.memory(server).server->region();
    REQUIRE(region.bytes() > first_bytes);
    REQUIRE(region.bytes() <= region.limit_bytes());
  }
  for (const std::size_t compute : {0, 1}) REQUIRE(cluster.stop_compute(compute, 60 * kSecond_ns));
  const std::string wrong = cluster.check_at_rest(60 * kSecond_ns);
  INFO(wrong);
  REQUIRE(wrong.empty());
}

TEST_CASE(
    "rows beyond the region's first end are read and written by compute servers that were there before") {
  const auto [first, count] = Seeds(20);
  for (std::uint64_t seed = first; seed < first + count; ++seed) grow_under_two(seed);
}

}  // namespace region_growth_test
}  // namespace namdb::sim
