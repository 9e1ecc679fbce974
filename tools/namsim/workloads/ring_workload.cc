#include "tools/namsim/workloads/ring_workload.h"

#include <map>
#include <set>

#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

const char* const kTable = "ring";
constexpr std::uint32_t kNext = 1;
constexpr Ledger::Account kLength = 0;

layout::Schema ring_schema() {
  return bigints({"id", "next"});
}

Status fill(layout::Row& row, std::int64_t id, std::int64_t next) {
  if (Status status = row.writer().set_integer(0, id); !status.ok()) return status;
  return row.writer().set_integer(kNext, next);
}

}  // namespace

// Reads nodes of the ring, one after the other.
class RingWorkload::Walk {
 public:
  Walk(RingWorkload& workload, txn::Transaction& transaction, storage::TableRef table)
      : workload_(workload), transaction_(transaction), table_(std::move(table)) {}

  // Complains if there is no such row.
  reactor::Task<Status> to(std::int64_t id) {
    at_ = id;
    row_ = transaction_.get(table_, key_of(table_->schema, id).bytes());
    Status status = co_await transaction_.fetch();
    const bool gone = status.ok() && !transaction_.found(row_);
    if (gone) status = co_await transaction_.confirm_reads();
    if (gone && status.ok())
      workload_.complain("node " + std::to_string(id) + " is named by another one and is not there");
    co_return status;
  }
  bool lost() const { return !workload_.complaint().empty(); }
  std::int64_t at() const { return at_; }
  std::int64_t next() const { return transaction_.row(row_).integer(kNext); }
  txn::RowId row() const { return row_; }
  txn::Transaction& transaction() { return transaction_; }
  const storage::TableRef& table() const { return table_; }

 private:
  RingWorkload& workload_;
  txn::Transaction& transaction_;
  storage::TableRef table_;
  std::int64_t at_ = 0;
  txn::RowId row_ = 0;
};

class RingWorkload::Client final : public WorkloadClient {
 public:
  Client(RingWorkload& workload, txn::Engine& engine)
      : workload_(workload), engine_(engine), session_(engine.open_session()) {}

  reactor::Task<history::Outcome> run_one(std::uint64_t session_id) override {
    const std::size_t record = workload_.begin_record(session_id);
    Status status;
    if (workload_.random().chance(workload_.options().long_reader_probability)) {
      status = co_await read();
    } else {
      status = co_await workload_.change_one(engine_, *session_);
    }
    workload_.judge(status);
    co_return workload_.end_record(record, status);
  }

 private:
  reactor::Task<Status> read() {
    auto table = co_await engine_.table(kTable);
    if (!table.ok()) co_return table.status();
    const auto transaction = engine_.begin(*session_);
    const std::uint64_t pause_ns = workload_.random().below(workload_.options().pause_ns + 1);
    if (Status status = co_await workload_.audit(engine_, *transaction, *table, pause_ns); !status.ok())
      co_return status;
    co_return co_await transaction->commit();
  }

  RingWorkload& workload_;
  txn::Engine& engine_;
  std::unique_ptr<txn::Session> session_;
};

RingWorkload::RingWorkload(fabric::sim::SimWorld& world, history::History& history, WorkloadOptions options)
    : Workload(world, history, options) {
  ledger_.open(kLength, static_cast<std::int64_t>(options.keys));
}

std::unique_ptr<WorkloadClient> RingWorkload::open_client(txn::Engine& engine) {
  return std::make_unique<Client>(*this, engine);
}

void RingWorkload::data_is_gone() {
  Workload::data_is_gone();
  ledger_.restart();
}

void RingWorkload::data_is_back() {
  Workload::data_is_back();
  ledger_.doubt();
}

reactor::Task<Status> RingWorkload::load(txn::Engine& engine) {
  Status status = co_await create_table(engine, kTable, ring_schema(), 8, 0);
  if (!status.ok()) co_return status;
  const layout::Schema schema = ring_schema();
  std::vector<layout::Row> rows;
  const auto keys = static_cast<std::int64_t>(options().keys);
  for (std::int64_t id = 0; id < keys; ++id) {
    layout::Row row(schema);
    status = fill(row, id, (id + 1) % keys);
    if (!status.ok()) co_return status;
    rows.push_back(std::move(row));
  }
  co_return co_await put_rows(engine, kTable, &rows);
}

reactor::Task<void> RingWorkload::abandon_one(txn::Engine& engine, std::uint64_t duration_ns) {
  return abandon_scan(engine, kTable, duration_ns);
}

reactor::Task<Status> RingWorkload::change_one(txn::Engine& engine, txn::Session& session) {
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  const auto transaction = engine.begin(session);
  Walk walk(*this, *transaction, *table);
  Status status = co_await walk.to(0);
  for (std::uint64_t steps = random().below(options().keys); steps > 0; --steps) {
    if (!status.ok() || walk.lost()) co_return status;
    status = co_await walk.to(walk.next());
  }
  if (!status.ok() || walk.lost()) co_return status;
  std::int64_t longer = 0;
  status = co_await change(walk, static_cast<Change>(random().below(3)), &longer);
  if (!status.ok() || walk.lost()) co_return status;
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  co_return co_await commit(*transaction, longer);
}

reactor::Task<Status> RingWorkload::commit(txn::Transaction& transaction, std::int64_t longer) {
  const Ledger::Entry entry = ledger_.begin(world().now_ns(), {{{kLength, longer}}});
  Status status = co_await transaction.commit();
  if (status.ok()) {
    ledger_.committed(entry, world().now_ns(), {{kLength, longer}});
  } else if (status.code() != ErrorCode::unknown_outcome) {
    ledger_.aborted(entry);
  }
  co_return status;
}

reactor::Task<Status> RingWorkload::change(Walk& walk, Change change, std::int64_t* longer) {
  txn::Transaction& transaction = walk.transaction();
  const txn::RowId row = walk.row();
  const std::int64_t at = walk.at();
  const std::int64_t next = walk.next();
  Status status;
  if (change == Change::insert) {
    const auto id = 1 + static_cast<std::int64_t>(random().below(static_cast<std::uint64_t>(pool()) - 1));
    const txn::RowId there = transaction.get(walk.table(), key_of(walk.table()->schema, id).bytes());
    status = co_await transaction.fetch();
    if (!status.ok() || transaction.found(there)) co_return status;
    layout::Row fresh(walk.table()->schema);
    status = fill(fresh, id, next);
    transaction.insert(walk.table(), fresh.bytes());
    if (status.ok()) status = transaction.update(row).set_integer(kNext, id);
    *longer = 1;
    co_return status;
  }
  if (next == at || next == 0) co_return status;
  status = co_await walk.to(next);
  if (!status.ok() || walk.lost()) co_return status;
  const txn::RowId second = walk.row();
  const std::int64_t third_id = walk.next();
  if (change == Change::remove) {
    status = transaction.update(row).set_integer(kNext, third_id);
    transaction.erase(second);
    *longer = -1;
    co_return status;
  }
  if (third_id == at) co_return status;
  status = co_await walk.to(third_id);
  if (!status.ok() || walk.lost()) co_return status;
  const txn::RowId third = walk.row();
  const std::int64_t fourth_id = walk.next();
  status = transaction.update(row).set_integer(kNext, third_id);
  if (!status.ok()) co_return status;
  status = transaction.update(third).set_integer(kNext, next);
  if (!status.ok()) co_return status;
  co_return transaction.update(second).set_integer(kNext, fourth_id);
}

reactor::Task<Status> RingWorkload::audit(txn::Engine& engine, txn::Transaction& transaction,
                                          storage::TableRef table, std::uint64_t pause_ns) {
  const std::uint64_t begin_ns = world().now_ns();
  const std::size_t life = lives().size();
  Walk walk(*this, transaction, table);
  std::set<std::int64_t> ring;
  Status status;
  const bool scan_first = random().chance(0.5);
  std::vector<layout::Row> rows;
  if (scan_first) status = co_await scan_rows(engine, transaction, table, pause_ns, &rows);
  for (std::int64_t id = 0; status.ok() && ring.insert(id).second; id = walk.next()) {
    status = co_await walk.to(id);
    if (!status.ok() || walk.lost()) co_return status;
    if (pause_ns != 0) co_await engine.executor().sleep_for(pause_ns / options().keys);
  }
  if (status.ok() && !scan_first) status = co_await scan_rows(engine, transaction, table, pause_ns, &rows);
  if (status.ok()) status = co_await transaction.confirm_reads();
  if (!status.ok() || !still(life)) co_return status;
  if (walk.next() != 0) complain("the ring comes back to node " + std::to_string(walk.next()));
  std::set<std::int64_t> scanned;
  for (const layout::Row& row : rows) scanned.insert(row.view().integer(0));
  if (scanned != ring || rows.size() != ring.size()) {
    complain("a ring of " + std::to_string(ring.size()) + " nodes, and a scan of the same snapshot shows " +
             std::to_string(rows.size()) + " rows");
  }
  const std::string wrong = ledger_.check(kLength, static_cast<std::int64_t>(ring.size()),
                                          may_miss_from_ns(begin_ns), world().now_ns());
  if (!wrong.empty()) complain("the ring's length is " + wrong);
  co_return status;
}

reactor::Task<Status> RingWorkload::touch(txn::Engine& engine, std::uint64_t session_id) {
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  const auto session = engine.open_session();
  const std::size_t record = begin_record(session_id);
  const auto transaction = engine.begin(*session);
  Status status = co_await audit(engine, *transaction, *table, 0);
  // Every row is written, and those that are not there are put in: behind node 0, one after the other.
  Walk walk(*this, *transaction, *table);
  if (status.ok() && !walk.lost()) status = co_await walk.to(0);
  std::int64_t longer = 0;
  std::int64_t next = status.ok() && !walk.lost() ? walk.next() : 0;
  for (std::int64_t id = 1; id < pool() && status.ok() && !walk.lost(); ++id) {
    const txn::RowId row = transaction->get(*table, key_of((*table)->schema, id).bytes());
    status = co_await transaction->fetch();
    if (!status.ok()) break;
    if (transaction->found(row)) {
      transaction->update(row);
      continue;
    }
    layout::Row fresh((*table)->schema);
    status = fill(fresh, id, next);
    transaction->insert(*table, fresh.bytes());
    next = id;
    ++longer;
  }
  if (status.ok() && !walk.lost()) status = transaction->update(walk.row()).set_integer(kNext, next);
  if (status.ok()) status = co_await transaction->fetch();
  if (status.ok()) status = co_await commit(*transaction, longer);
  end_record(record, status);
  co_return status;
}

}  // namespace namdb::sim
