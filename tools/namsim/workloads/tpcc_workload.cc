#include "tools/namsim/workloads/tpcc_workload.h"

#include "tools/namsim/workloads/tables.h"
#include "workloads/generators/text.h"
#include "workloads/procedures.h"
#include "workloads/tpcc_order_items.h"
#include "workloads/tpcc_rows.h"

namespace namdb::sim {
namespace {

namespace tpcc = workloads::tpcc;
using procedure::Value;

// Of the ledger.
constexpr Ledger::Account kOrdersTaken = 0;
constexpr Ledger::Account kReceived = 1;

// Small enough for the smallest journals that swarms draw.
constexpr std::uint64_t kMost_lines = 4;

std::string name_of(std::int64_t customer) {
  return workloads::last_name(static_cast<std::uint32_t>(customer - 1));
}

// Of a table that is there; an index may be there, too.
reactor::Task<Status> create_indexes(txn::Engine& engine, const workloads::TableSpec& table) {
  for (const workloads::IndexSpec& index : table.indexes) {
    txn::IndexDefinition definition{.name = index.name, .table = table.name, .columns = index.columns};
    Status status = co_await engine.create_index(std::move(definition));
    if (!status.ok() && status.code() != ErrorCode::duplicate_table) co_return status;
  }
  co_return Status();
}

}  // namespace

struct TpccWorkload::Call {
  const char* procedure = nullptr;
  bool new_order = false;
  std::vector<Value> arguments;
  Ledger::Changes changes;
  std::int64_t lines = 0;
};

class TpccWorkload::Client final : public WorkloadClient {
 public:
  Client(TpccWorkload& workload, txn::Engine& engine)
      : workload_(workload),
        engine_(engine),
        session_(engine.open_session()),
        calls_(engine, workload.procedures_, workload.random().chance(0.6), &workload.pieces_) {}

  reactor::Task<history::Outcome> run_one(std::uint64_t session_id) override {
    const std::size_t record = workload_.begin_record(session_id);
    Status status;
    if (workload_.random().chance(workload_.options().long_reader_probability)) {
      const std::uint64_t pause_ns = workload_.random().below(workload_.options().pause_ns + 1);
      const auto transaction = engine_.begin(*session_);
      status = co_await workload_.audit(engine_, *transaction, pause_ns);
      if (status.ok()) status = co_await transaction->commit();
    } else {
      status = co_await call();
    }
    const bool invalid_item = !status.ok() && status.code() == ErrorCode::procedure_abort &&
                              status.message() == "Item number is not valid";
    if (!invalid_item) workload_.judge(status);
    co_return workload_.end_record(record, status);
  }

 private:
  reactor::Task<Status> call() {
    const Call call = workload_.draw_call();
    const std::size_t life = workload_.lives().size();
    std::vector<Ledger::Changes> alternatives;
    alternatives.push_back(call.changes);
    const Ledger::Entry entry = workload_.ledger_.begin(workload_.world().now_ns(), std::move(alternatives));
    std::vector<Value> results;
    const Status status = co_await calls_.call(call.procedure, call.arguments, &results);
    const std::uint64_t now_ns = workload_.world().now_ns();
    if (status.ok()) {
      workload_.ledger_.committed(entry, now_ns, call.changes);
    } else if (status.code() != ErrorCode::unknown_outcome) {
      workload_.ledger_.aborted(entry);
    }
    if (!status.ok() || !call.new_order || !workload_.still(life)) co_return status;
    const auto number = [](const Value& value) { return std::get<std::int64_t>(value); };
    const OrderName order{number(call.arguments[0]), number(call.arguments[1]), number(results[0])};
    const AcknowledgedOrder acknowledged{number(call.arguments[2]), call.lines, now_ns};
    if (!workload_.acknowledged_.emplace(order, acknowledged).second)
      workload_.complain("order " + std::to_string(number(results[0])) + " was acknowledged twice");
    co_return status;
  }

  TpccWorkload& workload_;
  txn::Engine& engine_;
  std::unique_ptr<txn::Session> session_;
  ProcedureClient calls_;
};

TpccWorkload::TpccWorkload(fabric::sim::SimWorld& world, history::History& history, WorkloadOptions options)
    : Workload(world, history, options) {
  workloads::register_tpcc(procedures_);
  workloads::declare_tpcc_pieces(pieces_);
  scale_.warehouses = world.random().chance(0.3) ? 2 : 1;
  scale_.items = static_cast<std::uint32_t>(options.keys);
  by_warehouse_ = options.keys % 2 == 1;
  scale_.customers_per_district = 2;
  scale_.orders_per_district = 1;
  districts_ = world.random().between(1, 3);
  const std::int64_t districts = std::int64_t{scale_.warehouses} * tpcc::kDistrictsPerWarehouse;
  ledger_.open(kOrdersTaken, districts * scale_.orders_per_district);
  ledger_.open(kReceived, districts * scale_.customers_per_district * 10'00);
}

std::unique_ptr<WorkloadClient> TpccWorkload::open_client(txn::Engine& engine) {
  return std::make_unique<Client>(*this, engine);
}

void TpccWorkload::data_is_gone() {
  Workload::data_is_gone();
  ledger_.restart();
  acknowledged_.clear();
}

void TpccWorkload::data_is_back() {
  Workload::data_is_back();
  ledger_.doubt();
}

reactor::Task<Status> TpccWorkload::load(txn::Engine& engine) {
  const auto specs = by_warehouse_ ? tpcc::tables_by_warehouse() : tpcc::tables();
  for (std::size_t table = 0; table < specs.size(); ++table) {
    Status status = co_await create_table(engine, specs[table].name, specs[table].schema(),
                                          tpcc::expected_rows(scale_, table), specs[table].ring_versions);
    if (!status.ok()) co_return status;
    const layout::Schema schema = specs[table].schema();
    std::vector<layout::Row> rows;
    for (std::uint64_t unit = 0; unit < tpcc::unit_count(scale_, table); ++unit)
      tpcc::make_rows(scale_, schema, table, unit, Random(unit), rows);
    status = co_await put_rows(engine, specs[table].name, &rows);
    if (status.ok()) status = co_await create_indexes(engine, specs[table]);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<void> TpccWorkload::abandon_one(txn::Engine& engine, std::uint64_t duration_ns) {
  return abandon_scan(engine, "district", duration_ns);
}

TpccWorkload::Call TpccWorkload::draw_call() {
  const auto one_of = [this](std::uint64_t count) {
    return 1 + static_cast<std::int64_t>(random().below(count));
  };
  const std::int64_t warehouse = one_of(scale_.warehouses);
  const std::int64_t district = one_of(districts_);
  const std::int64_t customer = one_of(scale_.customers_per_district);
  Call call;
  const double kind = random().unit();
  call.new_order = kind < 0.45;
  if (kind >= 0.85) {
    if (kind < 0.9) {
      call.procedure = "tpcc_delivery";
      call.arguments = {warehouse, one_of(10)};
    } else if (kind < 0.95) {
      call.procedure = "tpcc_stock_level";
      call.arguments = {warehouse, district, std::int64_t{50}};
    } else {
      call.procedure = "tpcc_order_status_by_name";
      call.arguments = {warehouse, district, name_of(customer)};
    }
    return call;
  }
  call.procedure = call.new_order ? "tpcc_new_order" : "tpcc_payment";
  if (!call.new_order) {
    const auto amount = static_cast<std::int64_t>(random().between(1'00, 5'000'00));
    call.arguments = {warehouse,
                      district,
                      one_of(scale_.warehouses),
                      one_of(random().chance(0.2) ? tpcc::kDistrictsPerWarehouse : districts_),
                      customer,
                      amount};
    if (random().chance(0.5)) {
      call.procedure = "tpcc_payment_by_name";
      call.arguments[4] = name_of(customer);
    }
    call.changes = {{kReceived, amount}};
    return call;
  }
  tpcc::OrderItems items;
  call.lines = one_of(kMost_lines);
  const bool invalid = random().chance(0.03);
  for (std::int64_t line = 1; line <= call.lines; ++line) {
    const std::int64_t item = invalid && line == call.lines ? scale_.items + 1 : one_of(scale_.items);
    items.add({.item = static_cast<std::int32_t>(item),
               .supply_warehouse = static_cast<std::int32_t>(one_of(scale_.warehouses)),
               .quantity = static_cast<std::int32_t>(one_of(10))});
  }
  call.arguments = {warehouse, district, customer, items.to_text()};
  call.changes = {{kOrdersTaken, 1}};
  return call;
}

reactor::Task<Status> TpccWorkload::audit(txn::Engine& engine, txn::Transaction& transaction,
                                          std::uint64_t pause_ns) {
  const std::uint64_t begin_ns = world().now_ns();
  const std::size_t life = lives().size();
  const std::span<const workloads::TableSpec> specs = tpcc::tables();
  std::array<storage::TableRef, std::tuple_size_v<TpccRows>> tables;
  TpccRows rows;
  for (std::size_t table = 0; table < specs.size(); ++table) {
    auto found = co_await engine.table(specs[table].name);
    if (!found.ok()) co_return found.status();
    tables[table] = *found;
    Status status = co_await scan_rows(engine, transaction, tables[table], pause_ns, &rows[table]);
    if (!status.ok()) co_return status;
  }
  Status status = co_await transaction.confirm_reads();
  if (!status.ok() || !still(life)) co_return status;
  std::string wrong = check_tpcc(rows, scale_, acknowledged_, may_miss_from_ns(begin_ns));
  if (!wrong.empty()) complain("in a snapshot " + wrong);
  const std::uint64_t now_ns = world().now_ns();
  wrong = ledger_.check(kOrdersTaken, static_cast<std::int64_t>(rows[tpcc::kOrders].size()),
                        may_miss_from_ns(begin_ns), now_ns);
  if (!wrong.empty()) complain("a snapshot shows as orders " + wrong);
  wrong = ledger_.check(kReceived, sum_of(rows[tpcc::kWarehouse], tpcc::kWYtd), may_miss_from_ns(begin_ns),
                        now_ns);
  if (!wrong.empty()) complain("a snapshot shows as received " + wrong);
  co_return Status();
}

reactor::Task<Status> TpccWorkload::touch(txn::Engine& engine, std::uint64_t session_id) {
  const auto session = engine.open_session();
  const std::size_t record = begin_record(session_id);
  const auto transaction = engine.begin(*session);
  Status status = co_await audit(engine, *transaction, 0);
  if (status.ok()) status = co_await transaction->commit();
  end_record(record, status);
  for (const workloads::TableSpec& table : tpcc::tables()) {
    if (status.ok() && complaint().empty()) status = co_await touch_rows(engine, table.name);
  }
  co_return status;
}

}  // namespace namdb::sim
