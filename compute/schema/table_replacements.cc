#include "compute/schema/table_replacements.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compute/cluster/catalog_cache.h"
#include "compute/schema/part_scan.h"
#include "compute/txn/errors.h"
#include "proto/control.pb.h"

namespace namdb::schema {
namespace {

using storage::TableRef;

// Rows that are read before they are inserted, and that one transaction inserts.
constexpr std::size_t kPart_rows = 4096;
constexpr std::size_t kPart_bytes = 4 << 20;
constexpr std::size_t kCommit_rows = 512;
constexpr std::uint32_t kReadAttempts = 64;

// Of rows that are in the table already. `noted` may be null.
Status cannot_be_unique(const txn::Transaction& transaction, Status status, txn::Violation* noted) {
  const txn::TransactionFacts* const facts = txn::transaction_facts(&transaction);
  if (status.code() != ErrorCode::duplicate_key || facts == nullptr || facts->violation() == nullptr)
    return status;
  // A hidden name ends where the final one does.
  const std::string name(facts->violation()->constraint.c_str());
  if (noted != nullptr) {
    *noted = *facts->violation();
    noted->constraint = name;
  }
  return Status(ErrorCode::duplicate_key, "could not create unique index \"" + name + "\"",
                "two rows have the same key");
}

}  // namespace

reactor::Task<Status> TableReplacements::replace(txn::TableReplacement replacement) {
  txn::WorkerState& state = worker_.worker_state();
  Status status = co_await state.catalog.refresh();
  if (!status.ok()) co_return status;
  if (!state.catalog.current(*replacement.table))
    co_return Status(ErrorCode::table_is_altered,
                     "table \"" + replacement.table->name + "\" was dropped or altered meanwhile");
  txn::TableDefinition definition = std::move(replacement.definition);
  const auto created = co_await tables_.create(std::move(definition), replacement.table->id);
  if (!created.ok()) co_return created.status();
  status = co_await fill_and_replace(&replacement, *created);
  if (!status.ok()) co_await undo(created->id);
  co_return status;
}

reactor::Task<Status> TableReplacements::settle() {
  txn::CatalogCache& catalog = worker_.worker_state().catalog;
  Status status = co_await catalog.refresh();
  if (!status.ok()) co_return status;
  co_return co_await steps_.wait_for_writers(catalog.version());
}

reactor::Task<Status> TableReplacements::fill_and_replace(const txn::TableReplacement* replacement,
                                                          CreatedTable created) {
  txn::WorkerState& state = worker_.worker_state();
  const TableRef table = state.catalog.find_id(created.id);
  if (table == nullptr) co_return protocol::lost_connection();
  for (const txn::IndexDefinition& index : replacement->indexes) {
    txn::IndexDefinition definition = index;
    Status status = co_await indexes_.create(table, std::move(definition));
    if (!status.ok()) co_return status;
  }
  Status status = co_await steps_.wait_for_writers(created.catalog_version);
  if (!status.ok()) co_return status;
  if (replacement->rows != nullptr) {
    status = co_await copy(replacement, table);
    if (!status.ok()) co_return status;
  }
  control::ReplaceTableRequest request;
  request.set_table(created.id);
  control::ReplaceTableReply replaced;
  status = co_await state.cluster.call(0, control::REPLACE_TABLE, request, &replaced);
  if (!status.ok()) co_return status;
  // The new table is there: where this fails, other workers discard the old one.
  static_cast<void>(co_await tables_.discard(replaced.dropped()));
  static_cast<void>(co_await state.catalog.refresh());
  co_return Status();
}

reactor::Task<Status> TableReplacements::copy(const txn::TableReplacement* replacement, TableRef to) {
  const TableRef from = replacement->table;
  const txn::WorkerState& state = worker_.worker_state();
  protocol::ScanPosition position;
  const std::size_t end = from->arrays.size();
  std::vector<layout::Row> rows;
  std::vector<std::vector<std::byte>> changed;
  std::uint32_t attempts = 0;
  while (position.server < end) {
    Status status = co_await read_part(from, &position, &rows);
    if (state.cluster.has_lost()) co_return protocol::lost_connection();
    if (!status.ok()) {
      const bool again = status.info().retry || status.code() == ErrorCode::snapshot_too_old;
      if (!again || ++attempts >= kReadAttempts) co_return status;
      co_await state.executor.sleep_for(kPoll_ns);
      continue;
    }
    attempts = 0;
    changed.clear();
    status = co_await replacement->rows->change(&rows, &changed);
    if (!status.ok()) co_return status;
    status = co_await insert(to, &changed, replacement->violation);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> TableReplacements::read_part(TableRef table, protocol::ScanPosition* position,
                                                   std::vector<layout::Row>* rows) {
  rows->clear();
  PartScan scan(worker_, table, *position);
  std::size_t bytes = 0;
  std::vector<layout::Row> some;
  while (true) {
    Status status = co_await scan.next(&some);
    if (!status.ok()) co_return status;
    if (some.empty()) break;
    bytes += some.size() * table->schema.row_bytes();
    rows->insert(rows->end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    if (rows->size() >= kPart_rows || bytes >= kPart_bytes) scan.wind_up();
  }
  *position = scan.position();
  co_return Status();
}

reactor::Task<Status> TableReplacements::insert(TableRef table,
                                                const std::vector<std::vector<std::byte>>* rows,
                                                txn::Violation* violation) {
  for (std::size_t begun = 0; begun < rows->size(); begun += kCommit_rows) {
    const std::size_t end = std::min(rows->size(), begun + kCommit_rows);
    for (std::uint32_t attempt = 1;; ++attempt) {
      if (worker_.stopping()) co_return shutting_down();
      protocol::SessionState session;
      const auto transaction = worker_.begin(session);
      for (std::size_t i = begun; i < end; ++i) transaction->insert(table, (*rows)[i]);
      Status status = co_await transaction->commit();
      if (status.ok()) break;
      if (!status.info().retry || attempt >= kReadAttempts)
        co_return cannot_be_unique(*transaction, std::move(status), violation);
      co_await worker_.back_off(attempt);
    }
  }
  co_return Status();
}

reactor::Task<void> TableReplacements::undo(std::uint32_t table) {
  txn::WorkerState& state = worker_.worker_state();
  if (state.cluster.channel(0).failed()) co_return;
  control::FinishCreateTableRequest request;
  request.mutable_table()->set_id(table);
  request.set_abandon(true);
  // An error is not reported: the caller reports the one that ended the change.
  const Status undone = co_await state.cluster.call(0, control::FINISH_CREATE_TABLE, request, nullptr);
  if (!undone.ok()) co_return;
  static_cast<void>(co_await tables_.discard(table));
  static_cast<void>(co_await state.catalog.refresh());
}

}  // namespace namdb::schema
