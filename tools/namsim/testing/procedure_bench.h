// A cluster in the simulator on which a workload's procedures run one at a time, and what each costs in
// operations, calls, round trips and bytes: exact.
#pragma once

#include <catch2/catch.hpp>

#include "compute/procedure/registry.h"
#include "compute/procedure/resolve_tables.h"
#include "compute/testing/insert_rows.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"
#include "workloads/procedures.h"
#include "workloads/smallbank_schema.h"
#include "workloads/tpcc_order_items.h"
#include "workloads/tpcc_rows.h"
#include "workloads/tpcc_schema.h"

namespace namdb::sim::procedure_bench {

using fabric::OperationCounters;
using procedure::Value;
using reactor::Task;

// The network is mild and nothing fails, so that nothing is repeated.
inline ClusterOptions budget_cluster(std::uint32_t memory_servers, txn::SnapshotSource::Mode mode,
                                     txn::SnapshotSharing sharing, txn::CommitWrites writes,
                                     layout::VectorSpread timestamp_vector, memory::Durability durability) {
  ClusterOptions options;
  options.memory_servers = memory_servers;
  options.region_bytes = 64U << 20;
  options.memory.extent_bytes = 256U << 10;
  options.memory.journal_bytes = 1U << 20;
  options.location_cache_bytes = 4U << 20;
  options.worker.snapshot_mode = mode;
  options.worker.snapshot_sharing = sharing;
  options.worker.commit_writes = writes;
  options.memory.timestamp_vector = timestamp_vector;
  options.memory.durability = durability;
  return options;
}

inline Task<Status> create(txn::Engine* engine, std::span<const workloads::TableSpec> tables) {
  for (const workloads::TableSpec& table : tables) {
    Status status = co_await create_table(*engine, table.name, table.schema(), 2000,
                                          std::max<std::uint32_t>(table.ring_versions, 4));
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

inline Task<Result<OperationCounters>> call(txn::Engine* engine,
                                            std::shared_ptr<const procedure::Definition> definition,
                                            std::vector<Value> arguments, bool early = false) {
  auto tables = co_await procedure::resolve_tables(*engine, *definition);
  if (!tables.ok()) co_return tables.status();
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  transaction->answer_when_logged(early);
  std::vector<Value> results(definition->results.size());
  procedure::Context context(*transaction, *tables, arguments, results, 0);
  Status status = co_await definition->run(context);
  if (status.ok()) status = co_await transaction->commit();
  if (!status.ok()) co_return status;
  co_return transaction->counters();
}

struct Bench {
  explicit Bench(const ClusterOptions& options)
      : world(1), cluster(world, options), compute(cluster.add_compute()) {
    workloads::register_all(procedures);
  }
  Bench(std::uint32_t memory_servers, txn::SnapshotSource::Mode mode,
        txn::SnapshotSharing sharing = txn::SnapshotSharing::own,
        txn::CommitWrites writes = txn::CommitWrites::changed,
        layout::VectorSpread timestamp_vector = layout::VectorSpread::whole,
        memory::Durability durability = memory::Durability::memory)
      : Bench(budget_cluster(memory_servers, mode, sharing, writes, timestamp_vector, durability)) {}
  template <typename T>
  T run(Task<T> task) {
    return world.run(cluster.node(compute), std::move(task));
  }
  txn::Engine* engine() { return &cluster.worker(compute); }
  void make(std::span<const workloads::TableSpec> tables) {
    const Status status = run(create(engine(), tables));
    INFO(status.to_string());
    REQUIRE(status.ok());
  }
  void load(const std::string& table, const std::vector<layout::Row>& rows) {
    const Status status = run(txn::testing::insert_rows(engine(), table, &rows));
    INFO(status.to_string());
    REQUIRE(status.ok());
  }
  OperationCounters cost(const std::string& name, std::vector<Value> arguments, bool early = false) {
    auto counters = run(call(engine(), procedures.find(name), std::move(arguments), early));
    INFO(counters.status().to_string());
    REQUIRE(counters.ok());
    return *counters;
  }

  fabric::sim::SimWorld world;
  Cluster cluster;
  std::size_t compute;
  procedure::ProcedureRegistry procedures;
};

inline void load_smallbank(Bench& bench) {
  const auto tables = workloads::smallbank::tables();
  bench.make(tables);
  for (const workloads::TableSpec& table : tables) {
    const layout::Schema schema = table.schema();
    std::vector<layout::Row> rows;
    for (std::int64_t customer = 0; customer < 50; ++customer) {
      layout::Row row(schema);
      REQUIRE(row.writer().set_integer(0, customer).ok());
      if (table.name != "accounts") REQUIRE(row.writer().set_integer(1, 1'000'000).ok());
      rows.push_back(std::move(row));
    }
    bench.load(table.name, rows);
  }
}

inline void load_tpcc(Bench& bench, const workloads::tpcc::Scale& scale) {
  const auto tables = workloads::tpcc::tables();
  bench.make(tables);
  for (std::size_t table = 0; table < tables.size(); ++table) {
    const layout::Schema schema = tables[table].schema();
    std::vector<layout::Row> rows;
    for (std::uint64_t unit = 0; unit < workloads::tpcc::unit_count(scale, table); ++unit) {
      workloads::tpcc::make_rows(scale, schema, table, unit, Random(unit), rows);
    }
    bench.load(tables[table].name, rows);
  }
}

inline std::vector<Value> ten_items(std::int32_t first_item) {
  workloads::tpcc::OrderItems items;
  for (std::int32_t i = 0; i < 10; ++i)
    items.add({.item = first_item + i, .supply_warehouse = 1, .quantity = 1});
  return {std::int64_t{1}, std::int64_t{1}, std::int64_t{1}, items.to_text()};
}

}  // namespace namdb::sim::procedure_bench
