#include "tools/namsim/workloads/row_workload.h"

#include <algorithm>

#include "common/layout/key.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

txn::RowId get(txn::Transaction& transaction, const storage::TableRef& table, std::uint64_t key) {
  const layout::Key bytes = std::move(layout::Key(table->schema).integer(static_cast<std::int64_t>(key)));
  return transaction.get(table, bytes.bytes());
}

// Every other row is asked for as if it were only to be read, whatever becomes of it.
txn::RowId get_or_read(txn::Transaction& transaction, const storage::TableRef& table, std::uint64_t key) {
  if (key % 2 == 0) return get(transaction, table, key);
  const layout::Key bytes = std::move(layout::Key(table->schema).integer(static_cast<std::int64_t>(key)));
  return transaction.read(table, bytes.bytes());
}

}  // namespace

reactor::Task<Status> RowWorkload::load(txn::Engine& engine) {
  Status status = co_await create_table(engine, kTable, schema(), 16, 0);
  if (!status.ok()) co_return status;
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  std::vector<layout::Row> rows;
  for (std::uint64_t key = options().absent_keys; key < options().keys; ++key) {
    Result<layout::Row> row = loaded_row(*table, key);
    if (!row.ok()) co_return row.status();
    rows.push_back(std::move(row).value());
  }
  co_return co_await put_rows(engine, kTable, &rows);
}

Result<layout::Row> RowWorkload::loaded_row(const storage::TableRef& table, std::uint64_t key) const {
  layout::Row row(table->schema);
  Status status = row.writer().set_integer(0, static_cast<std::int64_t>(key));
  if (status.ok()) status = fill(row.writer());
  if (!status.ok()) return status;
  return row;
}

class RowWorkload::Client final : public WorkloadClient {
 public:
  Client(RowWorkload& workload, txn::Engine& engine)
      : workload_(workload), engine_(engine), session_(engine.open_session()) {}

  reactor::Task<history::Outcome> run_one(std::uint64_t session_id) override {
    const std::size_t record = workload_.begin_record(session_id);
    const Status status = co_await workload_.attempt(engine_, *session_, record);
    workload_.judge(status);
    co_return workload_.end_record(record, status);
  }

 private:
  RowWorkload& workload_;
  txn::Engine& engine_;
  std::unique_ptr<txn::Session> session_;
};

std::unique_ptr<WorkloadClient> RowWorkload::open_client(txn::Engine& engine) {
  return std::make_unique<Client>(*this, engine);
}

reactor::Task<void> RowWorkload::abandon_one(txn::Engine& engine, std::uint64_t duration_ns) {
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return;
  const auto session = engine.open_session();
  const auto transaction = engine.begin(*session);
  const txn::RowId row = get(*transaction, *table, options().keys - 1);
  const Status status = co_await transaction->fetch();
  if (status.ok() && transaction->found(row)) transaction->update(row);
  co_await engine.executor().sleep_for(duration_ns);
}

Status RowWorkload::take_reads(txn::Transaction& transaction, const Reads& reads, std::size_t record_at) {
  std::vector<layout::RowView> views;
  for (std::size_t i = 0; i < reads.keys.size(); ++i) {
    if (!transaction.found(reads.rows[i])) {
      if (reads.keys[i] >= options().absent_keys) return Status(ErrorCode::internal, "a row is gone");
      const Result<layout::Row> loaded = loaded_row(reads.table, reads.keys[i]);
      if (!loaded.ok()) return loaded.status();
      Result<history::Operation> operation =
          read(reads.keys[i], layout::RowView(reads.table->schema, (*loaded).bytes()));
      if (!operation.ok()) return operation.status();
      record(record_at, std::move(operation).value());
      continue;
    }
    views.push_back(transaction.row(reads.rows[i]));
    Result<history::Operation> operation = read(reads.keys[i], views.back());
    if (!operation.ok()) return operation.status();
    record(record_at, std::move(operation).value());
  }
  if (views.size() == options().keys && complaint().empty()) complain(audit(views));
  return {};
}

reactor::Task<Status> RowWorkload::attempt(txn::Engine& engine, txn::Session& session,
                                           std::size_t record_at) {
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  const auto transaction = engine.begin(session);
  Reads reads;
  reads.table = *table;
  reads.all_slowly = random().chance(options().long_reader_probability);
  for (std::uint64_t key = 0; key < options().keys; ++key) reads.keys.push_back(key);
  for (std::size_t i = reads.keys.size(); i > 1; --i)
    std::swap(reads.keys[i - 1], reads.keys[random().below(i)]);
  if (!reads.all_slowly) {
    const std::uint64_t wanted = random().between(options().fewest_keys, options().keys_per_transaction);
    reads.keys.resize(std::min<std::size_t>(reads.keys.size(), wanted));
  }
  for (const std::uint64_t key : reads.keys) {
    reads.rows.push_back(get_or_read(*transaction, *table, key));
    const bool fetch_now = reads.all_slowly || random().chance(0.3);
    if (!fetch_now) continue;
    Status status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    if (reads.all_slowly) {
      const std::uint64_t pause_ns = random().below(options().pause_ns + 1);
      co_await engine.executor().sleep_for(pause_ns);
    }
  }
  Status status = co_await transaction->fetch();
  // A statement about all rows together, or about a row that is not there, holds at one moment.
  const auto missing = [&](txn::RowId row) { return !transaction->found(row); };
  if (status.ok() && (reads.keys.size() == options().keys || std::ranges::any_of(reads.rows, missing)))
    status = co_await transaction->confirm_reads();
  if (status.ok()) status = take_reads(*transaction, reads, record_at);
  // Some of those that were only to be read are to be written after all.
  for (const std::uint64_t key : reads.keys) {
    if (status.ok() && key % 4 == 3) get(*transaction, *table, key);
  }
  if (status.ok()) status = co_await transaction->fetch();
  if (status.ok()) status = write(*transaction, reads, record_at);
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

reactor::Task<Status> RowWorkload::touch(txn::Engine& engine, std::uint64_t session_id) {
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  const auto session = engine.open_session();
  const std::size_t record_at = begin_record(session_id);
  const auto transaction = engine.begin(*session);
  Reads reads;
  reads.table = *table;
  for (std::uint64_t key = 0; key < options().keys; ++key) {
    reads.keys.push_back(key);
    reads.rows.push_back(get(*transaction, *table, key));
  }
  Status status = co_await transaction->fetch();
  if (status.ok()) status = co_await transaction->confirm_reads();
  if (status.ok()) {
    status = take_reads(*transaction, reads, record_at);
    // The same again: nothing changes.
    for (std::size_t i = 0; i < reads.rows.size() && status.ok(); ++i) {
      if (transaction->found(reads.rows[i])) {
        transaction->update(reads.rows[i]);
        continue;
      }
      const Result<layout::Row> loaded = loaded_row(*table, reads.keys[i]);
      status = loaded.status();
      if (status.ok()) transaction->insert(*table, (*loaded).bytes());
    }
    if (status.ok()) status = co_await transaction->commit();
  }
  end_record(record_at, status);
  co_return status;
}

}  // namespace namdb::sim
