// How many dependent round trips a transaction takes to rows that it sees some versions back: noise-free, and
// asserted. The table is in docs/internals/snapshot-isolation.md.
#include <catch2/catch.hpp>

#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/text_rows.h"

namespace namdb::sim {
namespace {

using reactor::Task;

// Every row becomes its next version, so many times.
Task<Status> update_all(txn::Engine* engine, TextRows shape, int times) {
  const auto session = engine->open_session();
  Status status;
  for (int done = 0; done < times && status.ok();) {
    status = co_await update_text_rows(engine, session.get(), shape, 1 + done);
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
Task<Result<RoundTrips>> read_behind(txn::Engine* engine, TextRows shape, int versions) {
  auto table = co_await engine->table(kTextRows);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  transaction->get(*table, key_of((*table)->schema, shape.rows).bytes());
  Status status = co_await transaction->fetch();
  if (status.ok()) status = co_await update_all(engine, shape, versions);
  if (!status.ok()) co_return status;

  RoundTrips taken;
  const std::uint64_t before = transaction->counters().round_trips;
  const txn::RowId row = transaction->get(*table, key_of((*table)->schema, 3).bytes());
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  CHECK(transaction->row(row).integer(TextRows::value) == 0);
  taken.row = transaction->counters().round_trips - before;

  const auto scan = transaction->scan(*table);
  std::vector<layout::Row> rows;
  std::int64_t seen = 0;
  do {
    status = co_await scan->next(rows);
    if (!status.ok()) co_return status;
    for (const layout::Row& each : rows) CHECK(each.view().integer(TextRows::value) == 0);
    seen += static_cast<std::int64_t>(rows.size());
  } while (!rows.empty());
  CHECK(seen == shape.rows);
  taken.scan = transaction->counters().round_trips - before - taken.row;
  co_return taken;
}

RoundTrips round_trips(TextRows shape, int versions) {
  fabric::sim::SimWorld world(1);
  ClusterOptions options;
  options.region_bytes = 256U << 20;
  options.location_cache_bytes = 4U << 20;
  Cluster cluster(world, options);
  const std::size_t compute = cluster.add_compute();
  txn::Engine* const engine = &cluster.worker(compute);
  REQUIRE(world.run(cluster.node(compute), load_text_rows(engine, shape)).ok());
  world.run_for(kMillisecond_ns);
  const auto taken = world.run(cluster.node(compute), read_behind(engine, shape, versions));
  INFO(taken.status().to_string());
  REQUIRE(taken.ok());
  return *taken;
}

}  // namespace

TEST_CASE("a row d versions back takes at most 2 round trips within the ring, and 2 + d / 8 beyond it",
          "[cost]") {
  // The longer rows are, the fewer of their old versions share a group of the overflow region: of 32 KiB,
  // one.
  const auto shape =
      GENERATE(TextRows{.rows = 50}, TextRows{.rows = 6, .text_bytes = 2'048},
               TextRows{.rows = 6, .text_bytes = 4'600}, TextRows{.rows = 6, .text_bytes = 16'300});
  const RoundTrips newest = round_trips(shape, 0);
  CHECK(newest.row == 1);
  for (const int versions : {1, 4, 8, 9, 10, 17, 18, 34, 50, 100, 400}) {
    if (versions > 100 && shape.text_bytes != 0) continue;
    const RoundTrips taken = round_trips(shape, versions);
    const std::uint64_t most = versions <= 8 ? 2 : 2 + (static_cast<std::uint64_t>(versions) + 7) / 8;
    INFO(versions << " versions back, texts of " << shape.text_bytes << ": a row " << taken.row << ", a scan "
                  << taken.scan << " (of newest rows " << newest.scan << ")");
    CHECK(taken.row <= most);
    // The rows of a scan go back together.
    CHECK(taken.scan - newest.scan <= taken.row);
  }
}

TEST_CASE("of the long rows of a scan no more than 8 MiB of old versions are READ at once", "[cost]") {
  const TextRows shape{.rows = 70, .text_bytes = 16'300};
  const RoundTrips newest = round_trips(shape, 0);
  const RoundTrips taken = round_trips(shape, 2);
  // A ring takes 256 KiB.
  CHECK(taken.scan - newest.scan == 3);
}

}  // namespace namdb::sim
