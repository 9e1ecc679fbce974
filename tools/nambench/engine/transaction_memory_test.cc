// The memory that a transaction of each type takes, and the bytes that it copies, on the engine over shared
// memory: one worker, one transaction at a time, everything that it needs in its caches. Of many runs the one
// that takes the least counts, so that other work of the worker is not in the figures; where there
// are few runs the bounds leave a little room for that. A change that lowers a figure lowers its bound.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compute/testing/insert_rows.h"
#include "tools/nambench/engine/engine_call.h"
#include "tools/nambench/engine/engine_host.h"
#include "tools/nambench/engine/memory_use.h"
#include "tools/support/servers/server_thread.h"
#include "tools/support/workload/workload_definitions.h"
#include "workloads/smallbank_schema.h"
#include "workloads/tpcc_order_items.h"
#include "workloads/tpcc_rows.h"
#include "workloads/tpcc_schema.h"

namespace namdb::nambench {
namespace {

using procedure::Value;
using reactor::Task;
using Values = std::vector<Value>;

constexpr std::int64_t kCustomers = 60;
// Of TPC-C. The first one has all transactions but deliveries: the index entries of orders that were
// delivered stay for a while that depends on the time, so that no two deliveries are of one warehouse.
constexpr std::int64_t kWarehouses = 6;
constexpr std::int64_t kDistricts = 10;

// The cost of one transaction: memory, and the payload of its operations and calls.
struct Figures {
  MemoryUse memory;
  std::uint64_t moved_bytes = 0;
};

// At most.
struct Bound {
  std::string_view procedure;
  MemoryUse memory;
};

Figures least(const Figures& left, const Figures& right) {
  const MemoryUse& a = left.memory;
  const MemoryUse& b = right.memory;
  return {{std::min(a.allocations, b.allocations), std::min(a.pooled, b.pooled),
           std::min(a.buffers, b.buffers), std::min(a.copied_bytes, b.copied_bytes)},
          std::min(left.moved_bytes, right.moved_bytes)};
}

Task<Status> create_table(txn::Engine* engine, const workloads::TableSpec* table) {
  txn::TableDefinition definition;
  definition.name = table->name;
  definition.schema = table->schema();
  definition.size_hint_rows = 8000;
  definition.ring_slots = std::max<std::uint32_t>(table->ring_versions, 4);
  co_return co_await engine->create_table(std::move(definition));
}

Task<Status> create_indexes(txn::Engine* engine, const workloads::TableSpec* table) {
  for (const workloads::IndexSpec& index : table->indexes) {
    txn::IndexDefinition definition{.name = index.name, .table = table->name, .columns = index.columns};
    Status status = co_await engine->create_index(std::move(definition));
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Task<void> finish(Task<Status> task, Status* status) {
  *status = co_await std::move(task);
}

Task<void> measure(EngineProcedure* procedure, txn::Session* session, const Values* arguments,
                   Values* results, MemoryUse* used, Status* status) {
  const MemoryUse before = memory_use();
  *status = co_await procedure->call(*session, *arguments, *results);
  *used = memory_use() - before;
}

class Bench {
 public:
  Bench() {
    auto server =
        support::ServerThread::start({.region_bytes = 256U << 20, .memory_server = memory::Options()});
    REQUIRE(server.ok());
    server_ = std::move(server).value();
    auto host = EngineHost::open({.memory_servers = {server_->address()}});
    REQUIRE(host.ok());
    host_ = std::move(host).value();
    session_ = host_->engine().open_session();
  }
  ~Bench() { session_.reset(); }

  void run(Task<Status> task) {
    Status status;
    host_->run(finish(std::move(task), &status));
    INFO(status.to_string());
    REQUIRE(status.ok());
  }
  txn::Engine* engine() { return &host_->engine(); }

  Figures call(const std::string& name, const Values& arguments) {
    auto& procedure = procedures_[name];
    if (procedure == nullptr) {
      procedure = std::make_unique<EngineProcedure>(host_->engine(), support::workload_definitions().at(name),
                                                    EngineCallOptions{});
    }
    const std::int64_t before_bytes = procedure->metrics().at("bytes");
    Figures figures;
    Status status;
    host_->run(
        measure(procedure.get(), session_.get(), &arguments, &results_[name], &figures.memory, &status));
    INFO(name << ": " << status.to_string());
    REQUIRE(status.ok());
    figures.moved_bytes = static_cast<std::uint64_t>(procedure->metrics().at("bytes") - before_bytes);
    return figures;
  }
  // Of so many calls, with the arguments of each.
  template <typename Arguments>
  Figures least_of(int calls, const std::string& name, const Arguments& arguments) {
    Figures figures = call(name, arguments(0));
    for (std::int64_t i = 1; i < calls; ++i) figures = least(figures, call(name, arguments(i)));
    return figures;
  }
  const Values& results(const std::string& name) { return results_[name]; }

 private:
  std::unique_ptr<support::ServerThread> server_;
  std::unique_ptr<EngineHost> host_;
  std::unique_ptr<txn::Session> session_;
  std::map<std::string, std::unique_ptr<EngineProcedure>> procedures_;
  std::map<std::string, Values> results_;
};

void check(const Bound& bound, const Figures& figures) {
  const MemoryUse& used = figures.memory;
  std::cout << bound.procedure << ": " << used.allocations << " allocations, " << used.pooled << " pooled, "
            << used.buffers << " buffers, " << used.copied_bytes << " bytes copied, " << figures.moved_bytes
            << " bytes by operations\n";
  INFO(bound.procedure);
  CHECK(used.allocations <= bound.memory.allocations);
  CHECK(used.pooled <= bound.memory.pooled);
  CHECK(used.buffers <= bound.memory.buffers);
  CHECK(used.copied_bytes <= bound.memory.copied_bytes);
}

void load_smallbank(Bench& bench) {
  for (const workloads::TableSpec& table : workloads::smallbank::tables()) {
    bench.run(create_table(bench.engine(), &table));
    const layout::Schema schema = table.schema();
    std::vector<layout::Row> rows;
    for (std::int64_t customer = 0; customer < kCustomers; ++customer) {
      layout::Row row(schema);
      REQUIRE(row.writer().set_integer(0, customer).ok());
      if (table.name != "accounts") REQUIRE(row.writer().set_integer(1, 1'000'000).ok());
      rows.push_back(std::move(row));
    }
    bench.run(txn::testing::insert_rows(bench.engine(), table.name, &rows));
  }
}

void load_tpcc(Bench& bench) {
  // So few orders that all of them are delivered.
  const workloads::tpcc::Scale scale{
      .warehouses = kWarehouses, .items = 400, .customers_per_district = 30, .orders_per_district = 3};
  REQUIRE(workloads::tpcc::undelivered_per_district(scale) == 0);
  const auto tables = workloads::tpcc::tables();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    bench.run(create_table(bench.engine(), &tables[i]));
    const layout::Schema schema = tables[i].schema();
    std::vector<layout::Row> rows;
    for (std::uint64_t unit = 0; unit < workloads::tpcc::unit_count(scale, i); ++unit)
      workloads::tpcc::make_rows(scale, schema, i, unit, Random(unit), rows);
    bench.run(txn::testing::insert_rows(bench.engine(), tables[i].name, &rows));
    bench.run(create_indexes(bench.engine(), &tables[i]));
  }
}

Values ten_items(std::int64_t warehouse, std::int64_t district, std::int64_t order) {
  workloads::tpcc::OrderItems items;
  for (std::int64_t i = 0; i < 10; ++i) {
    const auto item = static_cast<std::int32_t>(1 + (10 * order + i) % 400);
    items.add({.item = item, .supply_warehouse = static_cast<std::int32_t>(warehouse), .quantity = 1});
  }
  return {warehouse, district, std::int64_t{1}, items.to_text()};
}

TEST_CASE("transactions of SmallBank take so much memory and copy so many bytes", "[memory]") {
  Bench bench;
  load_smallbank(bench);
  constexpr int kCalls = 25;
  const auto check_type = [&](const Bound& bound, const auto& arguments) {
    const std::string name(bound.procedure);
    bench.least_of(kCalls, name, arguments);  // all rows' places are known from here on
    check(bound, bench.least_of(kCalls, name, arguments));
  };
  const auto one = [](std::int64_t i) { return Values{i}; };
  const auto one_and_amount = [](std::int64_t i) { return Values{i, std::int64_t{100}}; };
  check_type({"smallbank_balance", {1, 24, 3, 180}}, one);
  check_type({"smallbank_deposit_checking", {1, 34, 6, 256}}, one_and_amount);
  check_type({"smallbank_transact_savings", {1, 34, 6, 256}}, one_and_amount);
  check_type({"smallbank_write_check", {1, 37, 6, 316}}, one_and_amount);
  check_type({"smallbank_send_payment", {1, 36, 6, 496}},
             [](std::int64_t i) { return Values{2 * i, 2 * i + 1, std::int64_t{100}}; });
  check_type({"smallbank_amalgamate", {1, 40, 6, 100}},
             [](std::int64_t i) { return Values{2 * i, 2 * i + 1}; });
}

TEST_CASE("transactions of TPC-C take so much memory and copy so many bytes", "[memory]") {
  Bench bench;
  load_tpcc(bench);
  constexpr std::int64_t kOrders = 21;  // of each district
  const auto order = [](std::int64_t i) { return ten_items(1, 1 + i % kDistricts, i / kDistricts); };
  check({"tpcc_new_order", {10, 81, 10, 3750}},
        bench.least_of(kDistricts * kOrders, "tpcc_new_order", order));
  for (std::int64_t i = 0; i < (kWarehouses - 1) * kDistricts; ++i)
    bench.call("tpcc_new_order", ten_items(2 + i / kDistricts, 1 + i % kDistricts, i / kDistricts));
  const auto deliver = [](std::int64_t warehouse) { return Values{warehouse, std::int64_t{7}}; };
  bench.call("tpcc_delivery", deliver(2));
  check({"tpcc_delivery", {230, 191, 23, 13100}},
        bench.least_of(kWarehouses - 2, "tpcc_delivery", [&](std::int64_t i) { return deliver(3 + i); }));
  CHECK(std::get<std::int64_t>(bench.results("tpcc_delivery").front()) == kDistricts);
  constexpr int kCalls = 25;
  const auto pay = [](std::int64_t i) {
    const std::int64_t customer = 1 + i;
    return Values{std::int64_t{1}, std::int64_t{1}, std::int64_t{1},
                  std::int64_t{1}, customer,        std::int64_t{100}};
  };
  bench.least_of(kCalls, "tpcc_payment", pay);
  check({"tpcc_payment", {3, 49, 7, 700}}, bench.least_of(kCalls, "tpcc_payment", pay));
  const auto look = [](std::int64_t i) {
    return Values{std::int64_t{1}, 1 + i % kDistricts, std::int64_t{1}};  // the customer of all new orders
  };
  bench.least_of(kCalls, "tpcc_order_status", look);
  check({"tpcc_order_status", {34, 57, 5, 2450}}, bench.least_of(kCalls, "tpcc_order_status", look));
  const auto level = [](std::int64_t i) {
    return Values{std::int64_t{1}, 1 + i % kDistricts, std::int64_t{15}};
  };
  bench.least_of(kCalls, "tpcc_stock_level", level);
  check({"tpcc_stock_level", {229, 125, 13, 6500}}, bench.least_of(kCalls, "tpcc_stock_level", level));
}

}  // namespace
}  // namespace namdb::nambench
