// How many dependent round trips a transaction takes to rows that it sees some versions back: noise-free, and
// asserted. The table is in docs/internals/snapshot-isolation.md.
#include <catch2/catch.hpp>

#include "tools/namsim/cluster.h"
#include "tools/namsim/pairs_table.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;

constexpr std::int64_t kRows = 50;

// Every row becomes its next version, so many times.
Task<Status> update_all(txn::Engine* engine, int times) {
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  Status status;
  for (int done = 0; done < times && status.ok();) {
    const auto transaction = engine->begin(*session);
    std::vector<txn::RowId> rows;
    for (std::int64_t id = 0; id < kRows; ++id)
      rows.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
    status = co_await transaction->fetch();
    for (const txn::RowId row : rows) {
      if (status.ok()) status = transaction->update(row).set_integer(1, 1 + done);
    }
    if (status.ok()) status = co_await transaction->commit();
    if (status.ok()) ++done;
    if (!status.ok() && status.code() == ErrorCode::serialization_failure) status = Status();
  }
  co_return status;
}

struct RoundTrips {
  std::uint64_t row = 0;
  std::uint64_t scan = 0;
};

// Of a transaction whose snapshot was taken before the rows were updated.
Task<Result<RoundTrips>> read_behind(txn::Engine* engine, int versions) {
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  transaction->get(*table, key_of((*table)->schema, kRows).bytes());
  Status status = co_await transaction->fetch();
  if (status.ok()) status = co_await update_all(engine, versions);
  if (!status.ok()) co_return status;

  RoundTrips taken;
  const std::uint64_t before = transaction->counters().round_trips;
  const txn::RowId row = transaction->get(*table, key_of((*table)->schema, 7).bytes());
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  CHECK(transaction->row(row).integer(1) == 0);
  taken.row = transaction->counters().round_trips - before;

  const auto scan = transaction->scan(*table);
  std::vector<layout::Row> rows;
  std::int64_t seen = 0;
  do {
    status = co_await scan->next(rows);
    if (!status.ok()) co_return status;
    for (const layout::Row& each : rows) CHECK(each.view().integer(1) == 0);
    seen += static_cast<std::int64_t>(rows.size());
  } while (!rows.empty());
  CHECK(seen == kRows);
  taken.scan = transaction->counters().round_trips - before - taken.row;
  co_return taken;
}

RoundTrips round_trips(int versions) {
  fabric::sim::SimWorld world(1);
  ClusterOptions options;
  options.region_bytes = 64U << 20;
  options.location_cache_bytes = 4U << 20;
  Cluster cluster(world, options);
  const std::size_t compute = cluster.add_compute();
  txn::Engine* const engine = &cluster.worker(compute);
  REQUIRE(world.run(cluster.node(compute), load_pairs(engine, kRows)).ok());
  world.run_for(kMillisecond_ns);
  const auto taken = world.run(cluster.node(compute), read_behind(engine, versions));
  INFO(taken.status().to_string());
  REQUIRE(taken.ok());
  return *taken;
}

}  // namespace

TEST_CASE("a row d versions back takes at most 2 round trips within the ring, and 2 + d / 8 beyond it",
          "[cost]") {
  const RoundTrips newest = round_trips(0);
  CHECK(newest.row == 1);
  for (const int versions : {1, 4, 8, 9, 17, 50, 100, 400}) {
    const RoundTrips taken = round_trips(versions);
    const std::uint64_t most = versions <= 8 ? 2 : 2 + (static_cast<std::uint64_t>(versions) + 7) / 8;
    INFO(versions << " versions back: a row " << taken.row << ", a scan " << taken.scan << " (of newest rows "
                  << newest.scan << ")");
    CHECK(taken.row <= most);
    // The rows of a scan go back together.
    CHECK(taken.scan - newest.scan <= taken.row);
  }
}

}  // namespace namdb::sim
