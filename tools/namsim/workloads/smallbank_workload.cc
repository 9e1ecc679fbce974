#include "tools/namsim/workloads/smallbank_workload.h"

#include "common/layout/key.h"
#include "tools/namsim/workloads/tables.h"
#include "workloads/procedures.h"
#include "workloads/smallbank_schema.h"

namespace namdb::sim {
namespace {

namespace smallbank = workloads::smallbank;
using procedure::Value;

constexpr std::int64_t kOpening_cents = 1000;
constexpr std::int64_t kPenalty_cents = 100;

// Of the ledger: all money, and of each customer both balances, savings and checking.
constexpr Ledger::Account kAll = 0;
Ledger::Account both(std::uint64_t customer) {
  return 1 + 3 * customer;
}
Ledger::Account savings(std::uint64_t customer) {
  return 2 + 3 * customer;
}
Ledger::Account checking(std::uint64_t customer) {
  return 3 + 3 * customer;
}

Ledger::Changes into(Ledger::Account account, std::uint64_t customer, std::int64_t amount) {
  return {{kAll, amount}, {both(customer), amount}, {account, amount}};
}

}  // namespace

struct SmallbankWorkload::Call {
  std::string procedure;
  std::vector<Value> arguments;
  std::vector<Ledger::Changes> alternatives;  // none: it changes nothing
};

class SmallbankWorkload::Client final : public WorkloadClient {
 public:
  Client(SmallbankWorkload& workload, txn::Engine& engine)
      : workload_(workload),
        engine_(engine),
        session_(engine.open_session()),
        calls_(engine, workload.procedures_, workload.random().chance(0.6)) {}

  reactor::Task<history::Outcome> run_one(std::uint64_t session_id) override {
    const std::size_t record = workload_.begin_record(session_id);
    Status status;
    if (workload_.random().chance(workload_.options().long_reader_probability)) {
      const auto transaction = engine_.begin(*session_);
      status = co_await workload_.audit(engine_, *transaction, true);
      if (status.ok()) status = co_await transaction->commit();
    } else {
      status = co_await call();
    }
    const bool refused = !status.ok() && status.code() == ErrorCode::procedure_abort &&
                         status.message().starts_with("insufficient funds");
    if (!refused) workload_.judge(status);
    co_return workload_.end_record(record, status);
  }

 private:
  reactor::Task<Status> call() {
    Call call = workload_.draw_call();
    Ledger& ledger = workload_.ledger_;
    const std::uint64_t begin_ns = workload_.world().now_ns();
    const std::size_t life = workload_.lives().size();
    const Ledger::Entry entry = ledger.begin(begin_ns, call.alternatives);
    std::vector<Value> results;
    Status status = co_await calls_.call(call.procedure, call.arguments, &results);
    if (!status.ok()) {
      if (status.code() != ErrorCode::unknown_outcome) ledger.aborted(entry);
      co_return status;
    }
    Ledger::Changes changes;
    if (!call.alternatives.empty()) changes = call.alternatives.front();
    if (call.procedure == "smallbank_write_check") {
      const std::int64_t taken = std::get<std::int64_t>(results[0]);
      const std::int64_t amount = std::get<std::int64_t>(call.arguments[1]);
      if (taken != amount && taken != amount + kPenalty_cents)
        workload_.complain("a check of " + std::to_string(amount) + " took " + std::to_string(taken));
      if (taken != amount) changes = call.alternatives.back();
    }
    ledger.committed(entry, workload_.world().now_ns(), std::move(changes));
    if (call.procedure == "smallbank_balance" && workload_.still(life)) {
      const auto customer = static_cast<std::uint64_t>(std::get<std::int64_t>(call.arguments[0]));
      workload_.check_balance(both(customer), std::get<std::int64_t>(results[0]), begin_ns,
                              "smallbank_balance of customer " + std::to_string(customer) + " returns ");
    }
    co_return Status();
  }

  SmallbankWorkload& workload_;
  txn::Engine& engine_;
  std::unique_ptr<txn::Session> session_;
  ProcedureClient calls_;
};

SmallbankWorkload::SmallbankWorkload(fabric::sim::SimWorld& world, history::History& history,
                                     WorkloadOptions options)
    : Workload(world, history, options), amalgamates_(world.random().chance(0.5)) {
  workloads::register_smallbank(procedures_);
  ledger_.open(kAll, 2 * kOpening_cents * static_cast<std::int64_t>(options.keys));
  for (std::uint64_t customer = 0; customer < options.keys; ++customer) {
    ledger_.open(both(customer), 2 * kOpening_cents);
    ledger_.open(savings(customer), kOpening_cents);
    ledger_.open(checking(customer), kOpening_cents);
  }
}

std::unique_ptr<WorkloadClient> SmallbankWorkload::open_client(txn::Engine& engine) {
  return std::make_unique<Client>(*this, engine);
}

void SmallbankWorkload::data_is_gone() {
  Workload::data_is_gone();
  ledger_.restart();
}

void SmallbankWorkload::data_is_back() {
  Workload::data_is_back();
  ledger_.doubt();
}

reactor::Task<Status> SmallbankWorkload::load(txn::Engine& engine) {
  for (const workloads::TableSpec& table : smallbank::tables()) {
    Status status = co_await create_table(engine, table.name, table.schema(), 16, table.ring_versions);
    if (!status.ok()) co_return status;
    const layout::Schema schema = table.schema();
    std::vector<layout::Row> rows;
    for (std::uint64_t customer = 0; customer < options().keys; ++customer) {
      layout::Row row(schema);
      status = row.writer().set_integer(0, static_cast<std::int64_t>(customer));
      if (status.ok() && table.name != "accounts") status = row.writer().set_integer(1, kOpening_cents);
      if (status.ok() && table.name == "accounts") status = row.writer().set_text(1, "somebody");
      if (!status.ok()) co_return status;
      rows.push_back(std::move(row));
    }
    status = co_await put_rows(engine, table.name, &rows);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<void> SmallbankWorkload::abandon_one(txn::Engine& engine, std::uint64_t duration_ns) {
  return abandon_scan(engine, "checking", duration_ns);
}

SmallbankWorkload::Call SmallbankWorkload::draw_call() {
  const std::uint64_t customer = random().below(options().keys);
  const std::uint64_t other = (customer + 1 + random().below(options().keys - 1)) % options().keys;
  const auto one = static_cast<std::int64_t>(customer);
  const auto two = static_cast<std::int64_t>(other);
  // Amounts that hardly ever add up to each other.
  const auto amount = static_cast<std::int64_t>(random().between(1, 400));
  switch (random().below(amalgamates_ ? 6 : 5)) {
    case 0:
      return {"smallbank_balance", {one}, {}};
    case 1:
      return {"smallbank_deposit_checking", {one, amount}, {into(checking(customer), customer, amount)}};
    case 2: {
      const std::int64_t change = random().chance(0.4) ? amount : -amount;
      return {"smallbank_transact_savings", {one, change}, {into(savings(customer), customer, change)}};
    }
    case 3:
      return {"smallbank_write_check",
              {one, amount},
              {into(checking(customer), customer, -amount),
               into(checking(customer), customer, -amount - kPenalty_cents)}};
    case 4:
      return {"smallbank_send_payment",
              {one, two, amount},
              {{{both(customer), -amount},
                {checking(customer), -amount},
                {both(other), amount},
                {checking(other), amount}}}};
    default:
      return {"smallbank_amalgamate", {one, two}, {}};
  }
}

void SmallbankWorkload::check_balance(Ledger::Account account, std::int64_t value, std::uint64_t begin_ns,
                                      const std::string& what) {
  if (account != kAll && amalgamates_) return;
  const std::string wrong = ledger_.check(account, value, may_miss_from_ns(begin_ns), world().now_ns());
  if (!wrong.empty()) complain(what + wrong);
}

reactor::Task<Status> SmallbankWorkload::read_table(txn::Engine& engine, txn::Transaction& transaction,
                                                    storage::TableRef table, std::uint64_t pause_ns,
                                                    std::vector<std::int64_t>* balances) {
  std::vector<layout::Row> rows;
  if (random().chance(0.5)) {
    Status status = co_await scan_rows(engine, transaction, table, pause_ns, &rows);
    if (!status.ok()) co_return status;
  } else {
    for (std::uint64_t customer = 0; customer < options().keys; ++customer) {
      const txn::RowId row =
          transaction.get(table, key_of(table->schema, static_cast<std::int64_t>(customer)).bytes());
      Status status = co_await transaction.fetch();
      if (!status.ok()) co_return status;
      if (transaction.found(row)) rows.emplace_back(table->schema, transaction.row(row).bytes());
      if (pause_ns != 0) co_await engine.executor().sleep_for(pause_ns / options().keys);
    }
  }
  balances->assign(options().keys, 0);
  std::vector<bool> seen(options().keys);
  for (const layout::Row& row : rows) {
    const auto customer = static_cast<std::uint64_t>(row.view().integer(0));
    if (customer >= options().keys || seen[customer]) {
      complain(table->name + ": a row that nobody wrote, or one twice: " + std::to_string(customer));
      co_return Status();
    }
    seen[customer] = true;
    (*balances)[customer] = row.view().integer(1);
  }
  if (rows.size() == options().keys) co_return Status();
  const Status confirmed = co_await transaction.confirm_reads();
  if (confirmed.ok()) complain(table->name + ": a row is gone");
  co_return confirmed;
}

reactor::Task<Status> SmallbankWorkload::audit(txn::Engine& engine, txn::Transaction& transaction,
                                               bool slowly) {
  const std::uint64_t begin_ns = world().now_ns();
  const std::size_t life = lives().size();
  const std::uint64_t pause_ns = slowly ? 1 + random().below(options().pause_ns + 1) : 0;
  auto savings_table = co_await engine.table("savings");
  if (!savings_table.ok()) co_return savings_table.status();
  auto checking_table = co_await engine.table("checking");
  if (!checking_table.ok()) co_return checking_table.status();
  std::vector<std::int64_t> in_savings;
  Status status = co_await read_table(engine, transaction, *savings_table, pause_ns, &in_savings);
  if (!status.ok() || !complaint().empty()) co_return status;
  std::vector<std::int64_t> in_checking;
  status = co_await read_table(engine, transaction, *checking_table, pause_ns, &in_checking);
  if (status.ok()) status = co_await transaction.confirm_reads();
  if (!status.ok() || !complaint().empty()) co_return status;
  if (!still(life)) co_return status;
  std::int64_t sum = 0;
  for (std::uint64_t customer = 0; customer < options().keys; ++customer) {
    const std::string name = std::to_string(customer);
    sum += in_savings[customer] + in_checking[customer];
    if (in_savings[customer] < 0) complain("a snapshot shows savings of customer " + name + " below 0");
    check_balance(savings(customer), in_savings[customer], begin_ns,
                  "a snapshot shows savings of customer " + name + " as ");
    check_balance(checking(customer), in_checking[customer], begin_ns,
                  "a snapshot shows checking of customer " + name + " as ");
    check_balance(both(customer), in_savings[customer] + in_checking[customer], begin_ns,
                  "a snapshot shows both balances of customer " + name + " as ");
  }
  check_balance(kAll, sum, begin_ns, "a snapshot shows all money as ");
  co_return status;
}

reactor::Task<Status> SmallbankWorkload::touch(txn::Engine& engine, std::uint64_t session_id) {
  const auto session = engine.open_session();
  const std::size_t record = begin_record(session_id);
  const auto transaction = engine.begin(*session);
  Status status = co_await audit(engine, *transaction, false);
  for (const workloads::TableSpec& spec : smallbank::tables()) {
    if (!status.ok() || !complaint().empty()) break;
    auto table = co_await engine.table(spec.name);
    status = table.status();
    if (!status.ok()) break;
    std::vector<txn::RowId> rows;
    for (std::uint64_t customer = 0; customer < options().keys; ++customer)
      rows.push_back(
          transaction->get(*table, key_of((*table)->schema, static_cast<std::int64_t>(customer)).bytes()));
    status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->confirm_reads();
    for (const txn::RowId row : rows) {
      if (!status.ok()) break;
      if (!transaction->found(row)) status = Status(ErrorCode::internal, spec.name + ": a row is gone");
      if (status.ok()) transaction->update(row);
    }
  }
  if (status.ok()) status = co_await transaction->commit();
  end_record(record, status);
  co_return status;
}

}  // namespace namdb::sim
