// The cost of a transaction under each protocol, in operations and dependent round trips: exact, and
// asserted. The table is in docs/internals/protocols.md.
#include <catch2/catch.hpp>

#include "common/protocols/presets.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/pairs_table.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using fabric::OperationCounters;
using reactor::Task;

constexpr std::int64_t kRows = 16;

// Reads `reads` rows, of which it writes the first `writes`.
Task<Result<OperationCounters>> run(txn::Engine* engine, std::int64_t reads, std::int64_t writes) {
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  std::vector<txn::RowId> rows;
  for (std::int64_t id = 0; id < reads; ++id)
    rows.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
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

// Reads `reads` rows and writes none of them, and reads and writes `writes` others.
Task<Result<OperationCounters>> look(txn::Engine* engine, std::int64_t reads, std::int64_t writes) {
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  std::vector<txn::RowId> rows;
  for (std::int64_t id = 0; id < reads; ++id) transaction->read(*table, key_of((*table)->schema, id).bytes());
  for (std::int64_t id = 0; id < writes; ++id)
    rows.push_back(transaction->get(*table, key_of((*table)->schema, reads + id).bytes()));
  Status status = co_await transaction->fetch();
  for (const txn::RowId row : rows) {
    if (status.ok()) status = transaction->update(row).set_integer(1, 1);
  }
  if (status.ok()) status = co_await transaction->commit();
  if (!status.ok()) co_return status;
  co_return transaction->counters();
}

struct Setup {
  std::string_view stages = "one-sided";
  std::string_view without;
  std::string_view preset;
  memory::Durability durability = memory::Durability::memory;
};

OperationCounters cost(std::string_view protocol, std::int64_t reads, std::int64_t writes, Setup setup = {}) {
  fabric::sim::SimWorld world(1);
  ClusterOptions options;
  options.region_bytes = 64U << 20;
  options.memory.protocol = protocol;
  options.memory.stages = *protocol::StageCode::parse(setup.stages);
  options.memory.durability = setup.durability;
  if (const protocol::Preset* const preset = protocol::find_preset(setup.preset)) {
    options.memory.preset = preset->name;
    options.memory.stages = preset->stage_code();
  }
  options.location_cache_bytes = 4U << 20;
  options.worker.optimisations = *txn::Optimisations::without(setup.without);
  Cluster cluster(world, options);
  const std::size_t compute = cluster.add_compute();
  txn::Engine* const engine = &cluster.worker(compute);
  REQUIRE(world.run(cluster.node(compute), load_pairs(engine, kRows)).ok());
  // Once before, for the slot's lease, the location cache and guesses of header words.
  REQUIRE(world.run(cluster.node(compute), run(engine, reads, writes)).ok());
  world.run_for(kMillisecond_ns);  // its locks are released in the background
  auto counters = world.run(cluster.node(compute), run(engine, reads, writes));
  INFO(counters.status().to_string());
  REQUIRE(counters.ok());
  CHECK(counters->rereads == 0);
  const bool flushes = setup.durability == memory::Durability::flushed && writes != 0;
  if (options.memory.stages.one_sided()) CHECK(counters->calls == (flushes ? 1 : 0));
  return *counters;
}

}  // namespace

TEST_CASE("two rows read and two written cost each protocol what its table says", "[cost]") {
  struct Budget {
    std::string_view protocol;
    std::uint64_t operations;
    std::uint64_t round_trips;
  };
  const Budget budget = GENERATE(Budget{"si", 20, 4}, Budget{"occ", 15, 4}, Budget{"nowait", 17, 2},
                                 Budget{"waitdie", 17, 2}, Budget{"sundial", 24, 4}, Budget{"mvcc", 28, 4},
                                 Budget{"drtm", 17, 2}, Budget{"calvin", 22, 4});
  const OperationCounters counters = cost(budget.protocol, 4, 2);
  CAPTURE(budget.protocol);
  CHECK(counters.one_sided() == budget.operations);
  CHECK(counters.round_trips == budget.round_trips);
}

TEST_CASE("commits that wait for the disk cost a FLUSH, and a round trip where install waits for it",
          "[cost]") {
  const std::string_view protocol =
      GENERATE("si", "occ", "nowait", "waitdie", "sundial", "mvcc", "drtm", "calvin");
  const std::string_view stages = GENERATE("one-sided", "two-sided");
  CAPTURE(protocol, stages);
  const OperationCounters memory = cost(protocol, 4, 2, {.stages = stages});
  const OperationCounters flushed =
      cost(protocol, 4, 2, {.stages = stages, .durability = memory::Durability::flushed});
  // By calls, log and install are one as long as nothing waits for the disk in between.
  CHECK(flushed.calls == memory.calls + (stages == "two-sided" ? 2 : 1));
  CHECK(flushed.round_trips == memory.round_trips + (protocol == "si" ? 1 : 0));
  CHECK(flushed.one_sided() == memory.one_sided());
  CHECK(flushed.bytes() == memory.bytes() + 48);  // the FLUSH's request and reply
  // Reading asks for nothing.
  const OperationCounters read =
      cost(protocol, 4, 0, {.stages = stages, .durability = memory::Durability::flushed});
  CHECK(read.calls == cost(protocol, 4, 0, {.stages = stages}).calls);
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

TEST_CASE("rows that are only read cost a CAS and no round trip under DrTM, and nothing while a lease lasts",
          "[cost]") {
  const std::int64_t writes = GENERATE(0, 2);
  CAPTURE(writes);
  fabric::sim::SimWorld world(1);
  ClusterOptions options;
  options.region_bytes = 64U << 20;
  options.memory.protocol = "drtm";
  options.location_cache_bytes = 4U << 20;
  Cluster cluster(world, options);
  const std::size_t compute = cluster.add_compute();
  txn::Engine* const engine = &cluster.worker(compute);
  REQUIRE(world.run(cluster.node(compute), load_pairs(engine, kRows)).ok());
  REQUIRE(world.run(cluster.node(compute), look(engine, 2, writes)).ok());
  world.run_for(20 * kMillisecond_ns);  // the leases have ended
  const auto leases = world.run(cluster.node(compute), look(engine, 2, writes));
  REQUIRE(leases.ok());
  const std::uint64_t written = static_cast<std::uint64_t>(writes);
  CHECK(leases->round_trips == (writes == 0 ? 1 : 2));
  CHECK(leases->compare_and_swaps == 2 + written);
  CHECK(leases->reads == 1 + 2 + written);
  CHECK(leases->rereads == 0);
  world.run_for(100 * kMicrosecond_ns);  // the writes are installed
  const auto leased = world.run(cluster.node(compute), look(engine, 2, writes));
  REQUIRE(leased.ok());
  CHECK(leased->round_trips == leases->round_trips);
  CHECK(leased->compare_and_swaps == written);
  CHECK(leased->one_sided() == leases->one_sided() - 2);
}

namespace {

enum class Method { btree, hash, unique_hash };

// The row with that second column, by an index.
Task<Result<OperationCounters>> find_row(txn::Engine* engine, std::int64_t second) {
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  const storage::IndexRef index = (*table)->indexes.front();
  layout::IndexPrefix prefix(index->shape);
  txn::IndexRange range = layout::index_range(prefix.integer(second));
  std::vector<txn::RowId> rows;
  Status status = co_await transaction->find(*table, index, std::move(range), rows);
  if (!status.ok()) co_return status;
  if (rows.size() != 1) co_return Status(ErrorCode::internal, "not one row");
  co_return transaction->counters();
}

// The first row's second column becomes that.
Task<Result<OperationCounters>> change_row(txn::Engine* engine, std::int64_t second) {
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  const txn::RowId row = transaction->get(*table, key_of((*table)->schema, 0).bytes());
  Status status = co_await transaction->fetch();
  if (status.ok()) status = transaction->update(row).set_integer(1, second);
  if (status.ok()) status = co_await transaction->commit();
  if (!status.ok()) co_return status;
  co_return transaction->counters();
}

enum class Indexed { not_at_all, yes, uniquely };

OperationCounters change_cost(std::string_view protocol, Indexed indexed) {
  fabric::sim::SimWorld world(1);
  ClusterOptions options;
  options.region_bytes = 64U << 20;
  options.memory.protocol = protocol;
  options.location_cache_bytes = 4U << 20;
  Cluster cluster(world, options);
  const std::size_t compute = cluster.add_compute();
  txn::Engine* const engine = &cluster.worker(compute);
  REQUIRE(world.run(cluster.node(compute), load_pairs(engine, kRows)).ok());
  REQUIRE(world.run(cluster.node(compute), run(engine, kRows, kRows)).ok());  // each its own value
  if (indexed != Indexed::not_at_all) {
    txn::IndexDefinition definition{"by_second", kPairs, {{1, false}}, indexed == Indexed::uniquely, false};
    REQUIRE(world.run(cluster.node(compute), engine->create_index(std::move(definition))).ok());
  }
  REQUIRE(world.run(cluster.node(compute), change_row(engine, 100)).ok());
  world.run_for(kMillisecond_ns);
  auto counters = world.run(cluster.node(compute), change_row(engine, 101));
  INFO(counters.status().to_string());
  REQUIRE(counters.ok());
  return *counters;
}

OperationCounters lookup_cost(std::string_view protocol, Method method) {
  fabric::sim::SimWorld world(1);
  ClusterOptions options;
  options.region_bytes = 64U << 20;
  options.memory.protocol = protocol;
  options.location_cache_bytes = 4U << 20;
  options.worker.index_reads = txn::IndexReads::leaves;
  Cluster cluster(world, options);
  const std::size_t compute = cluster.add_compute();
  txn::Engine* const engine = &cluster.worker(compute);
  REQUIRE(world.run(cluster.node(compute), load_pairs(engine, kRows)).ok());
  REQUIRE(world.run(cluster.node(compute), run(engine, kRows, kRows)).ok());  // each its own value
  txn::IndexDefinition definition{
      "by_second", kPairs, {{1, false}}, method == Method::unique_hash, method != Method::btree};
  REQUIRE(world.run(cluster.node(compute), engine->create_index(std::move(definition))).ok());
  REQUIRE(world.run(cluster.node(compute), find_row(engine, 5)).ok());
  world.run_for(kMillisecond_ns);
  auto counters = world.run(cluster.node(compute), find_row(engine, 5));
  INFO(counters.status().to_string());
  REQUIRE(counters.ok());
  return *counters;
}

}  // namespace

TEST_CASE("a lookup by a hash index READs a bucket chain, entries and rows, and calls nobody", "[cost]") {
  const std::string_view protocol =
      GENERATE("si", "occ", "nowait", "waitdie", "sundial", "mvcc", "drtm", "calvin");
  CAPTURE(protocol);
  // A snapshot is two READs of the vector, others begin with one of the catalog's version; for a place in the
  // order there are two looks at the lanes.
  const std::uint64_t begin = protocol == "si" ? 2 : protocol == "calvin" ? 3 : 1;
  const OperationCounters many = lookup_cost(protocol, Method::hash);
  CHECK(many.calls == 0);
  CHECK(many.round_trips == begin + 3);  // bucket, entry, row
  CHECK(many.reads == begin + 3);
  const OperationCounters one = lookup_cost(protocol, Method::unique_hash);
  CHECK(one.calls == 0);
  CHECK(one.round_trips == begin + 2);  // entry, row
  CHECK(one.reads == begin + 2);
  CHECK(lookup_cost(protocol, Method::btree).round_trips == begin + 2);
}

TEST_CASE("entries of an index that is not unique are sent with the commit's locks", "[cost]") {
  struct Budget {
    std::string_view protocol;
    std::uint64_t round_trips;
  };
  const Budget budget = GENERATE(Budget{"si", 4}, Budget{"occ", 3}, Budget{"sundial", 5}, Budget{"mvcc", 5});
  CAPTURE(budget.protocol);
  const OperationCounters plain = change_cost(budget.protocol, Indexed::not_at_all);
  CHECK(plain.calls == 0);
  const OperationCounters indexed = change_cost(budget.protocol, Indexed::yes);
  CHECK(indexed.calls == 1);
  CHECK(indexed.round_trips == budget.round_trips);
  // In a unique index the first to add must hold the lock when another looks: one more round trip.
  const OperationCounters unique = change_cost(budget.protocol, Indexed::uniquely);
  CHECK(unique.calls == 1);
  CHECK(unique.round_trips == budget.round_trips + 1);
}

TEST_CASE("presets run each stage by the primitives of the system that they stand for", "[cost]") {
  const OperationCounters hybrid = cost("occ", 4, 2, {.preset = "drtm+h"});
  CHECK(hybrid.calls == 0);  // all addresses are cached
  CHECK(hybrid.round_trips == 4);
  const OperationCounters one_sided = cost("occ", 4, 2, {.preset = "drtm+r"});
  CHECK(one_sided.calls == 0);
  CHECK(one_sided.round_trips == 5);
  CHECK(one_sided.one_sided() == hybrid.one_sided());
  const OperationCounters farm = cost("occ", 4, 2, {.preset = "farm"});
  CHECK(farm.calls == 2);  // to lock, and to commit
  CHECK(farm.compare_and_swaps == 0);
  CHECK(farm.reads == 1 + 4 + 4 + 2);  // the catalog's version, buckets, rows, what was only read once more
  CHECK(farm.round_trips == 6);
  const OperationCounters fasst = cost("occ", 4, 2, {.preset = "fasst"});
  CHECK(fasst.reads + fasst.compare_and_swaps == 0);
  CHECK(fasst.calls == 4);  // rows, with them the catalog's version; lock and validate; log and commit
  CHECK(fasst.round_trips == 3);
}

TEST_CASE("each optimisation saves round trips or operations", "[cost]") {
  const OperationCounters all = cost("occ", 4, 2);
  CHECK(all.round_trips == 4);
  const OperationCounters awaited = cost("occ", 4, 2, {.without = "passive-acknowledgement"});
  CHECK(awaited.round_trips == 5);
  CHECK(awaited.one_sided() == all.one_sided());
  const OperationCounters one_by_one = cost("occ", 4, 2, {.without = "speculative-reads"});
  CHECK(one_by_one.round_trips == all.round_trips + 3);
  // Each operation waits for the one before; the publish is no longer among them.
  const OperationCounters dependent = cost("occ", 4, 2, {.without = "outstanding-requests"});
  CHECK(dependent.round_trips == dependent.one_sided() - 1);
  const OperationCounters doorbells = cost("occ", 4, 2, {.without = "doorbell-batching"});
  CHECK(doorbells.round_trips == all.round_trips);
  CHECK(doorbells.one_sided() == all.one_sided());
  const OperationCounters uncached = cost("occ", 4, 2, {.without = "location-cache"});
  CHECK(uncached.round_trips == all.round_trips + 1);
  CHECK(uncached.one_sided() == all.one_sided() + 4);
}

TEST_CASE("a memory server finds all rows of a step in one call and one round trip", "[cost]") {
  const std::string_view protocol = GENERATE("si", "occ", "sundial");
  CAPTURE(protocol);
  const OperationCounters found = cost(protocol, 4, 0, {.stages = "find", .without = "location-cache"});
  const OperationCounters read = cost(protocol, 4, 0, {.without = "location-cache"});
  CHECK(found.calls == 1);
  CHECK(found.reads == read.reads - 8);  // four buckets, four records
  CHECK(found.round_trips == read.round_trips - 1);
  // Where addresses are known no server is asked.
  CHECK(cost(protocol, 4, 0, {.stages = "find"}).calls == 0);
}

}  // namespace namdb::sim
