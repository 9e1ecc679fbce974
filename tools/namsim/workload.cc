#include "tools/namsim/workload.h"

#include <algorithm>

#include "common/layout/key.h"

namespace namdb::sim {
namespace {

const char* const kTable = "simulated";
// The first session of touch_all.
constexpr std::uint64_t kAuditor = 1'000'000;

txn::RowId get(txn::Transaction& transaction, const storage::TableRef& table, std::uint64_t key) {
  const layout::Key bytes = std::move(layout::Key(table->schema).integer(static_cast<std::int64_t>(key)));
  return transaction.get(table, bytes.bytes());
}

bool lost_connection(const Status& status) {
  return status.code() == ErrorCode::connection_failure || status.code() == ErrorCode::unknown_outcome ||
         status.code() == ErrorCode::fenced;
}

// A region or a vector without room until something is retired.
bool is_full(const Status& status) {
  return status.code() == ErrorCode::out_of_memory || status.code() == ErrorCode::limit_exceeded;
}

}  // namespace

reactor::Task<Status> Workload::load(txn::Engine& engine) {
  txn::TableOptions table_options;
  table_options.size_hint_rows = 16;
  Status status = co_await engine.create_table(kTable, schema(), table_options);
  // A connection that was lost on the way may have done it.
  if (!status.ok() && status.code() != ErrorCode::duplicate_table) co_return status;
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  const auto session = engine.open_session();
  const auto transaction = engine.begin(*session);
  for (std::uint64_t key = options_.absent_keys; key < options_.keys; ++key) {
    const Result<layout::Row> row = loaded_row(*table, key);
    if (!row.ok()) co_return row.status();
    transaction->insert(*table, (*row).bytes());
  }
  status = co_await transaction->fetch();
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

Result<layout::Row> Workload::loaded_row(const storage::TableRef& table, std::uint64_t key) const {
  layout::Row row(table->schema);
  Status status = row.writer().set_integer(0, static_cast<std::int64_t>(key));
  if (status.ok()) status = fill(row.writer());
  if (!status.ok()) return status;
  return row;
}

reactor::Task<history::Outcome> Workload::run_one(txn::Engine& engine, txn::Session& session,
                                                  std::uint64_t session_id) {
  const std::size_t record = history_.add({.session = session_id, .begin_ns = world_.now_ns()});
  const Status status = co_await attempt(engine, session, record);
  judge(status);
  history::Transaction& recorded = history_.at(record);
  if (status.ok() || status.code() != ErrorCode::unknown_outcome) {
    recorded.outcome = status.ok() ? history::Outcome::committed : history::Outcome::aborted;
    recorded.end_ns = world_.now_ns();
  }
  co_return recorded.outcome;
}

void Workload::data_is_gone() {
  gone_ = true;
  lives_.push_back(history_.transactions().size());
}

reactor::Task<void> Workload::abandon_one(txn::Engine& engine, std::uint64_t duration_ns) {
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return;
  const auto session = engine.open_session();
  const auto transaction = engine.begin(*session);
  const txn::RowId row = get(*transaction, *table, options_.keys - 1);
  const Status status = co_await transaction->fetch();
  if (status.ok() && transaction->found(row)) transaction->update(row);
  co_await engine.executor().sleep_for(duration_ns);
}

void Workload::judge(const Status& status) {
  if (!complaint_.empty() || status.ok()) return;
  if (status.code() == ErrorCode::transaction_timeout) return;
  if (status.code() == ErrorCode::snapshot_too_old) {
    complaint_ = "a version was lost: " + status.to_string();
    return;
  }
  if (lives_.size() > 1 || gone_) {
    // It began before the data was gone.
    if (status.code() == ErrorCode::undefined_table || status.code() == ErrorCode::memory_server_restarted)
      return;
  }
  if (!status.info().retry && !lost_connection(status) && !(options_.full_region && is_full(status)))
    complaint_ = status.to_string();
}

Status Workload::take_reads(txn::Transaction& transaction, const Reads& reads, std::size_t record_at) {
  std::vector<layout::RowView> views;
  for (std::size_t i = 0; i < reads.keys.size(); ++i) {
    if (!transaction.found(reads.rows[i])) {
      if (reads.keys[i] >= options_.absent_keys) return Status(ErrorCode::internal, "a row is gone");
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
  if (views.size() == options_.keys && complaint_.empty()) complaint_ = audit(views);
  return {};
}

reactor::Task<Status> Workload::attempt(txn::Engine& engine, txn::Session& session, std::size_t record_at) {
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  const auto transaction = engine.begin(session);
  Reads reads;
  reads.table = *table;
  reads.all_slowly = random().chance(options_.long_reader_probability);
  for (std::uint64_t key = 0; key < options_.keys; ++key) reads.keys.push_back(key);
  for (std::size_t i = reads.keys.size(); i > 1; --i)
    std::swap(reads.keys[i - 1], reads.keys[random().below(i)]);
  if (!reads.all_slowly) {
    const std::uint64_t wanted = random().between(options_.fewest_keys, options_.keys_per_transaction);
    reads.keys.resize(std::min<std::size_t>(reads.keys.size(), wanted));
  }
  for (const std::uint64_t key : reads.keys) {
    reads.rows.push_back(get(*transaction, *table, key));
    const bool fetch_now = reads.all_slowly || random().chance(0.3);
    if (!fetch_now) continue;
    Status status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    if (reads.all_slowly) {
      const std::uint64_t pause_ns = random().below(options_.pause_ns + 1);
      co_await engine.executor().sleep_for(pause_ns);
    }
  }
  Status status = co_await transaction->fetch();
  if (status.ok()) status = take_reads(*transaction, reads, record_at);
  if (status.ok()) status = write(*transaction, reads, record_at);
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

reactor::Task<Status> Workload::touch_all(txn::Engine& engine) {
  const auto session = engine.open_session();
  Status status;
  for (std::uint32_t attempt = 1; attempt <= 200; ++attempt) {
    auto table = co_await engine.table(kTable);
    if (!table.ok() && lost_connection(table.status())) {
      co_await engine.executor().sleep_for(200 * kMillisecond_ns);
      continue;
    }
    if (!table.ok()) co_return table.status();
    const std::size_t record_at = history_.add({.session = kAuditor + attempt, .begin_ns = world_.now_ns()});
    const auto transaction = engine.begin(*session);
    Reads reads;
    reads.table = *table;
    for (std::uint64_t key = 0; key < options_.keys; ++key) {
      reads.keys.push_back(key);
      reads.rows.push_back(get(*transaction, *table, key));
    }
    status = co_await transaction->fetch();
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
      if (!status.ok()) co_return status;
      status = co_await transaction->commit();
    }
    history::Transaction& recorded = history_.at(record_at);
    if (status.ok() || status.code() != ErrorCode::unknown_outcome) {
      recorded.outcome = status.ok() ? history::Outcome::committed : history::Outcome::aborted;
      recorded.end_ns = world_.now_ns();
    }
    if (status.ok()) co_return status;
    if (lost_connection(status) || (options_.full_region && is_full(status))) {
      co_await engine.executor().sleep_for(200 * kMillisecond_ns);
    } else if (!status.info().retry) {
      co_return status;
    } else {
      co_await engine.backoff(attempt);
    }
  }
  co_return status;
}

}  // namespace namdb::sim
