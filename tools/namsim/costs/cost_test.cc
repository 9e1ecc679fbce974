// The cost of transactions in one-sided operations and dependent round trips: exact, and asserted. The
// procedures are the workloads' own. Budget, stage by stage: docs/internals/snapshot-isolation.md.
#include "tools/namsim/testing/procedure_bench.h"

namespace namdb::sim {
namespace cost_test {

using namespace procedure_bench;

// On one memory server in so many round trips, and on several in 6.
void check_send_payment(txn::SnapshotSource::Mode mode, std::uint64_t round_trips_on_one) {
  for (const std::uint32_t memory_servers : {1U, 3U}) {
    Bench bench(memory_servers, mode);
    load_smallbank(bench);
    for (std::int64_t customer = 0; customer < 10; customer += 2) {
      const OperationCounters cost =
          bench.cost("smallbank_send_payment", {customer, customer + 1, std::int64_t{100}});
      CHECK(cost.rereads == 0);
      CHECK(cost.calls == 0);
      // Where two servers have the rows, each has its part of the journal.
      CHECK(cost.one_sided() <= (memory_servers == 1 ? 20 : 21));
      CHECK(cost.round_trips <= (memory_servers == 1 ? round_trips_on_one : 6));
    }
  }
}

TEST_CASE("send-payment takes 20 operations in 4 round trips on one memory server, 21 in 6 on several",
          "[cost]") {
  check_send_payment(txn::SnapshotSource::Mode::reads, 4);
}

TEST_CASE("with the vector READ in the batch of the rows, send-payment takes 3 round trips on one server",
          "[cost]") {
  check_send_payment(txn::SnapshotSource::Mode::together, 3);
}

TEST_CASE("on disk send-payment has a FLUSH more on each server, and at level memory fewer round trips",
          "[cost]") {
  for (const std::uint32_t memory_servers : {1U, 3U}) {
    Bench bench(memory_servers, txn::SnapshotSource::Mode::reads, txn::SnapshotSharing::own,
                txn::CommitWrites::changed, layout::VectorSpread::whole, memory::Durability::flushed);
    load_smallbank(bench);
    for (std::int64_t customer = 0; customer < 10; customer += 2) {
      const auto pay = [&](bool early) {
        const OperationCounters cost =
            bench.cost("smallbank_send_payment", {customer, customer + 1, std::int64_t{100}}, early);
        bench.world.run_for(kMillisecond_ns);
        CHECK(cost.rereads == 0);
        CHECK(cost.calls >= 1);
        CHECK(cost.calls <= (memory_servers == 1 ? 1 : 2));
        CHECK(cost.one_sided() <= (memory_servers == 1 ? 20 : 21));
        return cost;
      };
      const OperationCounters flushed = pay(/*early=*/false);
      const OperationCounters early = pay(/*early=*/true);
      CHECK(flushed.round_trips <= (memory_servers == 1 ? 5 : 6));
      CHECK(early.round_trips <= 4);
      CHECK(early.one_sided() == flushed.one_sided());
      CHECK(early.calls == flushed.calls);
    }
  }
}

TEST_CASE("a partitioned vector costs send-payment two READs more for each other part, and no round trip",
          "[cost]") {
  // In both modes, which concern whole vectors only: a partitioned one is never fetched by a call.
  for (const auto mode : {txn::SnapshotSource::Mode::reads, txn::SnapshotSource::Mode::call}) {
    for (const std::uint32_t memory_servers : {1U, 2U, 3U}) {
      Bench bench(memory_servers, mode, txn::SnapshotSharing::own, txn::CommitWrites::changed,
                  layout::VectorSpread::partitioned);
      load_smallbank(bench);
      if (memory_servers == 1 && mode == txn::SnapshotSource::Mode::call) continue;
      for (std::int64_t customer = 0; customer < 10; customer += 2) {
        const OperationCounters cost =
            bench.cost("smallbank_send_payment", {customer, customer + 1, std::int64_t{100}});
        CHECK(cost.rereads == 0);
        CHECK(cost.calls == 0);
        CHECK(cost.one_sided() <= (memory_servers == 1 ? 20 : 21) + 2 * (memory_servers - 1));
        CHECK(cost.round_trips <= (memory_servers == 1 ? 4 : 6));
      }
    }
  }
}

// The second worker's slot has its word on memory server 1.
TEST_CASE("a publish is piggybacked on the install if all of that goes to the server of the slot's word",
          "[cost]") {
  Bench bench(2, txn::SnapshotSource::Mode::reads, txn::SnapshotSharing::own, txn::CommitWrites::changed,
              layout::VectorSpread::partitioned);
  load_smallbank(bench);
  const std::size_t second = bench.cluster.add_compute();
  const auto deposit = [&](std::size_t compute, std::int64_t customer) {
    auto counters =
        bench.world.run(bench.cluster.node(compute), call(&bench.cluster.worker(compute),
                                                          bench.procedures.find("smallbank_deposit_checking"),
                                                          {customer, std::int64_t{100}}));
    INFO(counters.status().to_string());
    REQUIRE(counters.ok());
    return counters->round_trips;
  };
  // Each row is on one of the two servers: one of the two workers' publishes is piggybacked, the other's is
  // not.
  for (std::int64_t customer = 0; customer < 10; ++customer) {
    for (const std::size_t compute : {bench.compute, second}) deposit(compute, customer);
    const std::uint64_t trips[] = {deposit(bench.compute, customer), deposit(second, customer)};
    CHECK(std::min(trips[0], trips[1]) + 1 == std::max(trips[0], trips[1]));
  }
}

TEST_CASE("a snapshot costs what the live slots cost, however many there were", "[cost]") {
  Bench bench(1, txn::SnapshotSource::Mode::reads);
  load_smallbank(bench);
  const auto pay = [&](std::size_t compute, std::int64_t customer) {
    auto counters =
        bench.world.run(bench.cluster.node(compute),
                        call(&bench.cluster.worker(compute), bench.procedures.find("smallbank_send_payment"),
                             {customer, customer + 1, std::int64_t{100}}));
    INFO(counters.status().to_string());
    REQUIRE(counters.ok());
    return *counters;
  };
  const std::uint64_t alone_bytes = pay(0, 0).read_bytes;
  std::vector<std::size_t> others;
  for (std::int64_t i = 0; i < 40; ++i) {
    others.push_back(bench.cluster.add_compute());
    pay(others.back(), i % 20);
  }
  CHECK(pay(0, 0).read_bytes >= alone_bytes + 2 * 40 * 8);
  for (const std::size_t other : others) REQUIRE(bench.cluster.stop_compute(other, 10 * kSecond_ns));
  bench.world.run_for(70 * kSecond_ns);  // longer than E and slack
  pay(bench.cluster.add_compute(), 2);
  pay(0, 0);  // its next snapshot is shorter
  CHECK(pay(0, 0).read_bytes <= alone_bytes + 2 * 8 * 8);
}

TEST_CASE("a snapshot by call costs send-payment no more round trips", "[cost]") {
  Bench bench(1, txn::SnapshotSource::Mode::call);
  load_smallbank(bench);
  bench.cost("smallbank_send_payment", {std::int64_t{5}, std::int64_t{6}, std::int64_t{100}});
  const OperationCounters cost =
      bench.cost("smallbank_send_payment", {std::int64_t{1}, std::int64_t{2}, std::int64_t{100}});
  CHECK(cost.calls == 1);
  CHECK(cost.one_sided() <= 18);
  CHECK(cost.round_trips <= 4);
}

TEST_CASE("a snapshot taken ahead saves send-payment a round trip", "[cost]") {
  Bench bench(1, txn::SnapshotSource::Mode::call, txn::SnapshotSharing::prefetched);
  load_smallbank(bench);
  bench.world.run_for(kMillisecond_ns);  // other sessions' snapshots have what was loaded
  bench.cost("smallbank_send_payment", {std::int64_t{5}, std::int64_t{6}, std::int64_t{100}});
  const OperationCounters cost =
      bench.cost("smallbank_send_payment", {std::int64_t{1}, std::int64_t{2}, std::int64_t{100}});
  CHECK(cost.one_sided() <= 18);
  CHECK(cost.round_trips <= 3);
}

TEST_CASE("a snapshot that transactions share costs send-payment no more round trips than its own",
          "[cost]") {
  Bench bench(1, txn::SnapshotSource::Mode::call, txn::SnapshotSharing::shared);
  load_smallbank(bench);
  bench.cost("smallbank_send_payment", {std::int64_t{5}, std::int64_t{6}, std::int64_t{100}});
  const OperationCounters cost =
      bench.cost("smallbank_send_payment", {std::int64_t{1}, std::int64_t{2}, std::int64_t{100}});
  CHECK(cost.calls == 1);
  CHECK(cost.one_sided() <= 18);
  CHECK(cost.round_trips <= 4);
}

layout::Schema measured_things() {
  using layout::ColumnType;
  return *layout::Schema::create(
      {{"id", ColumnType::bigint, 0, 0, 0, true, {}}, {"weight", ColumnType::bigint, 0, 0, 0, true, {}}},
      {0});
}

// The cost of scanning the weights in [0, end) by the index; `rows` receives the number of rows.
Task<Result<OperationCounters>> scan_weights(txn::Engine* engine, std::int64_t end, std::size_t* rows) {
  const auto table = co_await engine->table("things");
  if (!table.ok()) co_return table.status();
  const storage::IndexRef index = (*table)->indexes.at(0);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  txn::IndexRange range{std::string(layout::IndexPrefix(index->shape).integer(0).bytes()),
                        std::string(layout::IndexPrefix(index->shape).integer(end).bytes()), false, 0};
  const auto scan = transaction->scan_index(*table, index, std::move(range));
  std::vector<layout::Row> some;
  *rows = 0;
  do {
    Status status = co_await scan->next(some);
    if (!status.ok()) co_return status;
    *rows += some.size();
  } while (!some.empty());
  co_return transaction->counters();
}

TEST_CASE("a range of 1,000 records by an index takes at most 4 round trips behind its first leaf",
          "[cost]") {
  for (const std::uint32_t memory_servers : {1U, 3U}) {
    Bench bench(memory_servers, txn::SnapshotSource::Mode::reads);
    const layout::Schema schema = measured_things();
    std::vector<layout::Row> rows;
    for (std::int64_t id = 0; id < 3000; ++id) {
      layout::Row row(schema);
      REQUIRE(row.writer().set_integer(0, id).ok());
      REQUIRE(row.writer().set_integer(1, (id * 7919) % 3000).ok());
      rows.push_back(std::move(row));
    }
    REQUIRE(bench.run(create_table(*bench.engine(), "things", schema, 8000, 0)).ok());
    bench.load("things", rows);
    const Status built = bench.run(bench.engine()->create_index({"weights", "things", {{1, false}}, false}));
    INFO(built.to_string());
    REQUIRE(built.ok());
    // One that has the records' places, and one that has nothing yet.
    const std::size_t fresh = bench.cluster.add_compute();
    for (const std::size_t compute : {bench.compute, fresh}) {
      const auto scan = [&](std::int64_t end, std::size_t expected) {
        std::size_t found = 0;
        const auto cost = bench.world.run(bench.cluster.node(compute),
                                          scan_weights(&bench.cluster.worker(compute), end, &found));
        INFO(cost.status().to_string());
        REQUIRE(cost.ok());
        CHECK(found == expected);
        return *cost;
      };
      const OperationCounters snapshot = scan(0, 0);
      const OperationCounters cost = scan(1000, 1000);
      CHECK(cost.rereads == 0);
      CHECK(cost.round_trips - snapshot.round_trips <= 1 + 4);
    }
  }
}

// Of `count` ranges of one weight each, side by side; `rows` receives the number of rows.
Task<Result<OperationCounters>> find_weights(txn::Engine* engine, std::int64_t count, std::size_t* rows) {
  const auto table = co_await engine->table("things");
  if (!table.ok()) co_return table.status();
  const storage::IndexRef index = (*table)->indexes.at(0);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  std::vector<txn::IndexRange> ranges;
  for (std::int64_t i = 0; i < count; ++i) {
    ranges.push_back(layout::index_range(layout::IndexPrefix(index->shape).integer(i * 30)));
  }
  std::vector<std::vector<txn::RowId>> found;
  Status status =
      co_await transaction->find_each(*table, index, std::move(ranges), txn::RowUse::only_read, found);
  if (!status.ok()) co_return status;
  *rows = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const txn::RowId row : found[i]) {
      if (transaction->row(row).integer(1) == static_cast<std::int64_t>(i) * 30) ++*rows;
    }
  }
  co_return transaction->counters();
}

TEST_CASE("ranges of an index side by side take as many round trips as one", "[cost]") {
  Bench bench(1, txn::SnapshotSource::Mode::reads);
  const layout::Schema schema = measured_things();
  std::vector<layout::Row> rows;
  for (std::int64_t id = 0; id < 900; ++id) {
    layout::Row row(schema);
    REQUIRE(row.writer().set_integer(0, id).ok());
    REQUIRE(row.writer().set_integer(1, id / 3).ok());
    rows.push_back(std::move(row));
  }
  REQUIRE(bench.run(create_table(*bench.engine(), "things", schema, 2000, 0)).ok());
  bench.load("things", rows);
  REQUIRE(bench.run(bench.engine()->create_index({"weights", "things", {{1, false}}, false})).ok());
  const auto find = [&](std::int64_t count) {
    std::size_t found = 0;
    const auto cost = bench.run(find_weights(bench.engine(), count, &found));
    INFO(cost.status().to_string());
    REQUIRE(cost.ok());
    CHECK(found == 3 * static_cast<std::size_t>(count));
    return *cost;
  };
  find(10);  // leaves and places are known then
  const OperationCounters one = find(1);
  const OperationCounters ten = find(10);
  CHECK(one.rereads + ten.rereads == 0);
  CHECK(ten.round_trips == one.round_trips);
}

TEST_CASE("a delivery to ten districts takes no more than 12 round trips", "[cost]") {
  Bench bench(1, txn::SnapshotSource::Mode::reads);
  load_tpcc(bench, {.warehouses = 1, .items = 100, .customers_per_district = 30, .orders_per_district = 30});
  for (const workloads::TableSpec& table : workloads::tpcc::tables()) {
    for (const workloads::IndexSpec& index : table.indexes)
      REQUIRE(bench.run(bench.engine()->create_index({index.name, table.name, index.columns})).ok());
  }
  OperationCounters cost;
  for (int times = 0; times < 3; ++times) {
    cost = bench.cost("tpcc_delivery", {std::int64_t{1}, std::int64_t{7}});
    bench.world.run_for(kSecond_ns);
  }
  INFO(cost.one_sided() << " operations, " << cost.calls << " calls");
  CHECK(cost.one_sided() > 500);  // each district had an order to deliver
  CHECK(cost.round_trips <= 12);
}

TEST_CASE("stock-level READs order lines and stocks together where they lie side by side", "[cost]") {
  Bench bench(1, txn::SnapshotSource::Mode::reads);
  load_tpcc(bench, {.warehouses = 1, .items = 100, .customers_per_district = 30, .orders_per_district = 30});
  const auto look = [&bench](std::int64_t district) {
    return bench.cost("tpcc_stock_level", {std::int64_t{1}, district, std::int64_t{15}});
  };
  look(1);  // the places of its rows are known from here on
  const OperationCounters cost = look(1);
  CHECK(cost.calls == 0);
  CHECK(cost.rereads == 0);
  CHECK(cost.round_trips <= 6);
  // Two of the snapshot, district and 20 orders; the others are some 200 order lines and nearly all stocks.
  CHECK(cost.reads < 100);
}

TEST_CASE("new-order of ten items takes 5 round trips on one memory server and 7 on several", "[cost]") {
  for (const std::uint32_t memory_servers : {1U, 2U}) {
    Bench bench(memory_servers, txn::SnapshotSource::Mode::reads);
    load_tpcc(bench,
              {.warehouses = 1, .items = 100, .customers_per_district = 10, .orders_per_district = 10});
    // The first orders reserve record space and meet rings that the mover has not emptied.
    bool seen = false;
    for (std::int32_t order = 0; order < 8; ++order) {
      const OperationCounters cost = bench.cost("tpcc_new_order", ten_items(1 + 10 * order));
      bench.world.run_for(kSecond_ns);
      if (cost.calls > 0 || cost.rereads > 0) continue;
      seen = true;
      CHECK(cost.round_trips <= (memory_servers == 1 ? 5 : 7));
    }
    CHECK(seen);
  }
}

TEST_CASE("new-order moves 30 % fewer bytes than with whole rows, in as many round trips", "[cost]") {
  std::array<OperationCounters, 2> costs;
  for (const auto writes : {txn::CommitWrites::changed, txn::CommitWrites::whole}) {
    Bench bench(1, txn::SnapshotSource::Mode::reads, txn::SnapshotSharing::own, writes);
    load_tpcc(bench,
              {.warehouses = 1, .items = 100, .customers_per_district = 10, .orders_per_district = 10});
    bench.cost("tpcc_new_order", ten_items(11));
    bench.world.run_for(kSecond_ns);
    costs[writes == txn::CommitWrites::whole ? 1 : 0] = bench.cost("tpcc_new_order", ten_items(1));
  }
  const auto& [changed, whole] = costs;
  INFO(changed.bytes() << " bytes instead of " << whole.bytes());
  CHECK(changed.rereads == whole.rereads);
  CHECK(changed.round_trips == whole.round_trips);
  CHECK(10 * changed.bytes() <= 7 * whole.bytes());
}

}  // namespace cost_test
}  // namespace namdb::sim
