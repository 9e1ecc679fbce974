// The cost of many rows in one transaction, for each thousand of them: those of COPY FROM, and of a scan.
#include <catch2/catch.hpp>

#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/pairs_table.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace bulk_cost_test {

using fabric::OperationCounters;
using reactor::Task;

constexpr std::int64_t kRows = 16'384;
constexpr std::int64_t kInsertedAtOnce = 1024;  // as COPY FROM does

double for_each_thousand(std::uint64_t count) {
  return static_cast<double>(count) * 1000 / static_cast<double>(kRows);
}

Task<Result<OperationCounters>> insert_all(txn::Engine* engine) {
  Status status = co_await load_pairs(engine, 0);
  if (!status.ok()) co_return status;
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  for (std::int64_t id = 0; id < kRows && status.ok(); ++id) {
    status = insert_pair(*transaction, *table, id, 0);
    if (status.ok() && (id + 1) % kInsertedAtOnce == 0) status = co_await transaction->fetch();
  }
  if (status.ok()) status = co_await transaction->commit();
  if (!status.ok()) co_return status;
  co_return transaction->counters();
}

struct Scanned {
  OperationCounters counters;
  std::int64_t rows = 0;
  std::int64_t sum = 0;  // of ids
};

Task<Result<Scanned>> scan_all(txn::Engine* engine) {
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  const auto scan = transaction->scan(*table);
  Scanned scanned;
  txn::RowBlock rows;
  do {
    Status status = co_await scan->next_block(rows);
    if (!status.ok()) co_return status;
    for (std::size_t i = 0; i < rows.size(); ++i) scanned.sum += rows[i].integer(0);
    scanned.rows += static_cast<std::int64_t>(rows.size());
  } while (!rows.empty());
  scanned.counters = transaction->counters();
  co_return scanned;
}

TEST_CASE("many rows of one transaction take few round trips to be inserted, and to be read", "[cost]") {
  ClusterOptions options;
  options.region_bytes = 128U << 20;
  options.location_cache_bytes = 4U << 20;
  fabric::sim::SimWorld world(1);
  Cluster cluster(world, options);
  const std::size_t compute = cluster.add_compute();
  const auto inserted = world.run(cluster.node(compute), insert_all(&cluster.worker(compute)));
  INFO(inserted.status().to_string());
  REQUIRE(inserted.ok());
  INFO("inserted: " << for_each_thousand(inserted->round_trips) << " round trips, "
                    << for_each_thousand(inserted->one_sided()) << " operations, "
                    << for_each_thousand(inserted->calls) << " calls");
  CHECK(for_each_thousand(inserted->round_trips) <= 5);
  CHECK(for_each_thousand(inserted->calls) <= 2);
  CHECK(for_each_thousand(inserted->one_sided()) <= 5000);

  const auto scanned = world.run(cluster.node(compute), scan_all(&cluster.worker(compute)));
  INFO(scanned.status().to_string());
  REQUIRE(scanned.ok());
  CHECK(scanned->rows == kRows);
  CHECK(scanned->sum == kRows * (kRows - 1) / 2);
  INFO("scanned: " << for_each_thousand(scanned->counters.round_trips) << " round trips, "
                   << for_each_thousand(scanned->counters.read_bytes) << " bytes");
  CHECK(for_each_thousand(scanned->counters.round_trips) <= 8);
}

}  // namespace bulk_cost_test
}  // namespace namdb::sim
