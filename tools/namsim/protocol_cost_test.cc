// What a transaction costs under each protocol, in operations and dependent round trips: noise-free, and
// asserted. The table is in docs/internals/protocols.md.
#include <catch2/catch.hpp>

#include "tools/namsim/cluster.h"

namespace namdb::sim {
namespace {

using fabric::OperationCounters;
using reactor::Task;

constexpr std::int64_t kRows = 16;

layout::Schema pair_schema() {
  std::vector<layout::Column> columns(2);
  columns[0].name = "id";
  columns[0].type = columns[1].type = layout::ColumnType::bigint;
  columns[1].name = "value";
  return *layout::Schema::create(std::move(columns), {0});
}

layout::Row pair(const layout::Schema& schema, std::int64_t id) {
  layout::Row row(schema);
  REQUIRE(row.writer().set_integer(0, id).ok());
  REQUIRE(row.writer().set_integer(1, 0).ok());
  return row;
}

Task<Status> load(txn::Engine* engine) {
  txn::TableOptions options;
  Status status = co_await engine->create_table("pairs", pair_schema(), options);
  if (!status.ok()) co_return status;
  auto table = co_await engine->table("pairs");
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  for (std::int64_t id = 0; id < kRows; ++id) transaction->insert(*table, pair((*table)->schema, id).bytes());
  status = co_await transaction->fetch();
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

// Reads `reads` rows, of which it writes the first `writes`.
Task<Result<OperationCounters>> run(txn::Engine* engine, std::int64_t reads, std::int64_t writes) {
  auto table = co_await engine->table("pairs");
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  std::vector<txn::RowId> rows;
  for (std::int64_t id = 0; id < reads; ++id)
    rows.push_back(transaction->get(*table, pair((*table)->schema, id).view().key()));
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  for (std::int64_t id = 0; id < writes; ++id) {
    status = transaction->update(rows[static_cast<std::size_t>(id)]).set_integer(1, id);
    if (!status.ok()) co_return status;
  }
  status = co_await transaction->commit();
  if (!status.ok()) co_return status;
  co_return transaction->counters();
}

OperationCounters cost(std::string_view protocol, std::int64_t reads, std::int64_t writes) {
  fabric::sim::SimWorld world(1);
  ClusterOptions options;
  options.region_bytes = 64U << 20;
  options.memory.protocol = protocol;
  options.location_cache_bytes = 4U << 20;
  Cluster cluster(world, options);
  const std::size_t compute = cluster.add_compute();
  txn::Engine* const engine = &cluster.worker(compute);
  REQUIRE(world.run(cluster.node(compute), load(engine)).ok());
  // Once before, for the slot's lease, the location cache and guesses of header words.
  REQUIRE(world.run(cluster.node(compute), run(engine, reads, writes)).ok());
  world.run_for(kMillisecond_ns);  // its locks are released in the background
  auto counters = world.run(cluster.node(compute), run(engine, reads, writes));
  INFO(counters.status().to_string());
  REQUIRE(counters.ok());
  CHECK(counters->rereads == 0);
  CHECK(counters->calls == 0);
  return *counters;
}

}  // namespace

TEST_CASE("two rows read and two written cost each protocol what its table says", "[cost]") {
  struct Budget {
    std::string_view protocol;
    std::uint64_t operations;
    std::uint64_t round_trips;
  };
  const Budget budget = GENERATE(Budget{"si", 20, 5}, Budget{"occ", 15, 5}, Budget{"nowait", 17, 3},
                                 Budget{"waitdie", 17, 3}, Budget{"sundial", 24, 5}, Budget{"mvcc", 28, 5});
  const OperationCounters counters = cost(budget.protocol, 4, 2);
  CAPTURE(budget.protocol);
  CHECK(counters.one_sided() == budget.operations);
  CHECK(counters.round_trips == budget.round_trips);
}

TEST_CASE("a transaction that only reads validates in one round trip, and one row needs no validation",
          "[cost]") {
  const OperationCounters many = cost("occ", 4, 0);
  CHECK(many.round_trips == 2);
  CHECK(many.one_sided() == 1 + 4 + 4);
  const OperationCounters one = cost("occ", 1, 0);
  CHECK(one.round_trips == 1);
  CHECK(one.one_sided() == 1 + 1);
  // Second time, the leases reach far enough.
  const OperationCounters leased = cost("sundial", 4, 0);
  CHECK(leased.round_trips == 1);
  CHECK(leased.one_sided() == 1 + 4 + 4);
  const OperationCounters locked = cost("nowait", 4, 0);
  CHECK(locked.round_trips == 1);
  CHECK(locked.one_sided() == 1 + 4 + 4);  // what releases comes after the transaction
}

}  // namespace namdb::sim
