#include "tools/namsim/register_workload.h"

#include <algorithm>

#include "common/layout/key.h"

namespace namdb::sim {

using history::Operation;
using history::Outcome;
using history::Version;

namespace {

const char* const kTable = "register";

layout::Schema register_schema() {
  std::vector<layout::Column> columns(2);
  columns[0] = {.name = "id"};
  columns[1] = {.name = "version"};
  return std::move(*layout::Schema::create(std::move(columns), {0}));
}

}  // namespace

reactor::Task<Status> RegisterWorkload::load(txn::Engine& engine) {
  txn::TableOptions table_options;
  table_options.size_hint_rows = 16;
  Status status = co_await engine.create_table(kTable, register_schema(), table_options);
  if (!status.ok()) co_return status;
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  const auto session = engine.open_session();
  const auto transaction = engine.begin(*session);
  for (std::uint64_t key = 0; key < options_.keys; ++key) {
    layout::Row row((*table)->schema);
    status = row.writer().set_integer(0, static_cast<std::int64_t>(key));
    if (status.ok()) status = row.writer().set_integer(1, 0);
    if (!status.ok()) co_return status;
    transaction->insert(*table, row.bytes());
  }
  status = co_await transaction->fetch();
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

reactor::Task<bool> RegisterWorkload::run_one(txn::Engine& engine, txn::Session& session,
                                              std::uint64_t session_id) {
  const std::size_t record = history_.add({.session = session_id, .begin_ns = world_.now_ns()});
  const Status status = co_await attempt(engine, session, record);
  if (!status.ok() && status.code() == ErrorCode::snapshot_too_old) ++versions_missed_;
  history::Transaction& recorded = history_.at(record);
  if (status.ok() || status.code() != ErrorCode::unknown_outcome) {
    recorded.outcome = status.ok() ? Outcome::committed : Outcome::aborted;
    recorded.end_ns = world_.now_ns();
  }
  co_return status.ok();
}

reactor::Task<Status> RegisterWorkload::attempt(txn::Engine& engine, txn::Session& session,
                                                std::size_t record) {
  Random& random = world_.random();
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  const auto transaction = engine.begin(session);
  const bool long_reader = random.chance(options_.long_reader_probability);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0; key < options_.keys; ++key) keys.push_back(key);
  for (std::size_t i = keys.size(); i > 1; --i) std::swap(keys[i - 1], keys[random.below(i)]);
  if (!long_reader)
    keys.resize(std::min<std::size_t>(keys.size(), random.between(1, options_.keys_per_transaction)));

  std::vector<txn::RowId> rows;
  for (const std::uint64_t key : keys) {
    const layout::Key bytes =
        std::move(layout::Key((*table)->schema).integer(static_cast<std::int64_t>(key)));
    rows.push_back(transaction->get(*table, bytes.bytes()));
    const bool fetch_now = long_reader || random.chance(0.3);
    if (!fetch_now) continue;
    Status status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    if (long_reader) {
      const std::uint64_t pause_ns = random.below(options_.pause_ns + 1);
      co_await engine.executor().sleep_for(pause_ns);
    }
  }
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!transaction->found(rows[i])) co_return Status(ErrorCode::internal, "a register is gone");
    const auto version = static_cast<Version>(transaction->row(rows[i]).integer(1));
    history_.at(record).operations.push_back(Operation::read(keys[i], version));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!random.chance(long_reader ? options_.write_probability / 4 : options_.write_probability)) continue;
    const auto displaced = static_cast<Version>(transaction->row(rows[i]).integer(1));
    const Version version = history_.next_version();
    status = transaction->update(rows[i]).set_integer(1, static_cast<std::int64_t>(version));
    if (!status.ok()) co_return status;
    history_.at(record).operations.push_back(Operation::write(keys[i], version, displaced));
  }
  co_return co_await transaction->commit();
}

reactor::Task<Status> RegisterWorkload::touch_all(txn::Engine& engine) {
  const auto session = engine.open_session();
  Status status;
  for (std::uint32_t attempt = 1; attempt <= 200; ++attempt) {
    auto table = co_await engine.table(kTable);
    if (!table.ok()) co_return table.status();
    const auto transaction = engine.begin(*session);
    std::vector<txn::RowId> rows;
    for (std::uint64_t key = 0; key < options_.keys; ++key) {
      const layout::Key bytes =
          std::move(layout::Key((*table)->schema).integer(static_cast<std::int64_t>(key)));
      rows.push_back(transaction->get(*table, bytes.bytes()));
    }
    status = co_await transaction->fetch();
    if (status.ok()) {
      for (const txn::RowId row : rows) {
        if (!transaction->found(row)) co_return Status(ErrorCode::internal, "a register is gone");
        const std::int64_t version = transaction->row(row).integer(1);
        status = transaction->update(row).set_integer(1, version);
        if (!status.ok()) co_return status;
      }
      status = co_await transaction->commit();
    }
    if (status.ok() || !status.info().retry) co_return status;
    co_await engine.backoff(attempt);
  }
  co_return status;
}

}  // namespace namdb::sim
