#include "tools/namsim/workloads/tables.h"

#include "tools/namsim/workloads/workload.h"

namespace namdb::sim {
namespace {

// Rows of one transaction.
constexpr std::size_t kBatch = 8;
constexpr std::size_t kBatch_bytes = 1500;

}  // namespace

Status insert_pair(txn::Transaction& transaction, const storage::TableRef& table, std::int64_t key,
                   std::int64_t value) {
  layout::Row row(table->schema);
  Status status = row.writer().set_integer(0, key);
  if (status.ok()) status = row.writer().set_integer(1, value);
  if (status.ok()) transaction.insert(table, row.bytes());
  return status;
}

layout::Schema bigints(std::initializer_list<const char*> names) {
  std::vector<layout::Column> columns;
  for (const char* name : names) columns.push_back({.name = name});
  return std::move(*layout::Schema::create(std::move(columns), {0}));
}

layout::Key key_of(const layout::Schema& schema, std::int64_t key) {
  return std::move(layout::Key(schema).integer(key));
}

reactor::Task<Status> create_table(txn::Engine& engine, std::string name, layout::Schema schema,
                                   std::uint64_t size_hint_rows, std::uint32_t ring_slots) {
  txn::TableDefinition definition;
  definition.name = std::move(name);
  definition.schema = std::move(schema);
  definition.size_hint_rows = size_hint_rows;
  definition.ring_slots = ring_slots;
  Status status = co_await engine.create_table(std::move(definition));
  if (!status.ok() && status.code() == ErrorCode::duplicate_table) status = Status();
  co_return status;
}

namespace {

// Of the rows from `first` on as many as one transaction takes; `end` is set to the next.
reactor::Task<Status> put_some(txn::Engine& engine, std::string name, const std::vector<layout::Row>* rows,
                               std::size_t first, std::size_t* end) {
  auto table = co_await engine.table(std::move(name));
  if (!table.ok()) co_return table.status();
  const auto session = engine.open_session();
  const auto transaction = engine.begin(*session);
  std::vector<txn::RowId> there;
  std::size_t length_bytes = 0;
  *end = first;
  while (*end < rows->size() && *end - first < kBatch && length_bytes < kBatch_bytes) {
    const layout::Row& row = (*rows)[(*end)++];
    there.push_back(transaction->get(*table, row.key()));
    length_bytes += row.bytes().size();
  }
  Status status = co_await transaction->fetch();
  for (std::size_t i = first; i < *end && status.ok(); ++i) {
    if (!transaction->found(there[i - first])) transaction->insert(*table, (*rows)[i].bytes());
  }
  if (status.ok()) status = co_await transaction->fetch();
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

}  // namespace

reactor::Task<Status> put_rows(txn::Engine& engine, std::string table, const std::vector<layout::Row>* rows) {
  Status status;
  std::size_t end = 0;
  for (std::size_t first = 0; first < rows->size(); first = end) {
    for (std::uint32_t attempt = 1; attempt <= 100; ++attempt) {
      status = co_await put_some(engine, table, rows, first, &end);
      if (status.ok()) break;
      if (!status.info().retry && !is_full(status)) co_return status;
      co_await engine.executor().sleep_for(is_full(status) ? 200 * kMillisecond_ns : kMillisecond_ns);
    }
    if (!status.ok()) co_return status;
  }
  co_return status;
}

reactor::Task<Status> scan_rows(txn::Engine& engine, txn::Transaction& transaction, storage::TableRef table,
                                std::uint64_t pause_ns, std::vector<layout::Row>* rows) {
  const auto scan = transaction.scan(table);
  std::vector<layout::Row> some;
  for (;;) {
    Status status = co_await scan->next(some);
    if (!status.ok() || some.empty()) co_return status;
    rows->insert(rows->end(), some.begin(), some.end());
    if (pause_ns == 0) continue;
    const std::uint64_t this_pause_ns = engine.executor().random().below(pause_ns);
    co_await engine.executor().sleep_for(this_pause_ns);
  }
}

reactor::Task<Status> touch_rows(txn::Engine& engine, std::string table) {
  auto found = co_await engine.table(std::move(table));
  if (!found.ok()) co_return found.status();
  const auto session = engine.open_session();
  std::vector<layout::Row> rows;
  {
    const auto transaction = engine.begin(*session);
    Status status = co_await scan_rows(engine, *transaction, *found, 0, &rows);
    if (!status.ok()) co_return status;
  }
  for (std::size_t next = 0; next < rows.size();) {
    const auto transaction = engine.begin(*session);
    std::vector<txn::RowId> some;
    for (std::size_t length_bytes = 0; next < rows.size() && length_bytes < kBatch_bytes; ++next) {
      some.push_back(transaction->get(*found, rows[next].key()));
      length_bytes += rows[next].bytes().size();
    }
    Status status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->confirm_reads();
    for (const txn::RowId row : some) {
      if (status.ok() && !transaction->found(row)) status = Status(ErrorCode::internal, "a row is gone");
      if (status.ok()) transaction->update(row);
    }
    if (status.ok()) status = co_await transaction->commit();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> touch_hash_entries(txn::Engine& engine, std::string table) {
  const auto found = co_await engine.table(std::move(table));
  if (!found.ok()) co_return found.status();
  const auto session = engine.open_session();
  const auto transaction = engine.begin(*session);
  std::vector<txn::RowId> entries;
  const std::vector<storage::IndexRef> indexes = (*found)->indexes;  // the catalog may change meanwhile
  for (const storage::IndexRef& index : indexes) {
    if (!index->hash) continue;
    std::vector<layout::Row> rows;
    Status status = co_await scan_rows(engine, *transaction, index->entries, 0, &rows);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : rows) entries.push_back(transaction->get(index->entries, row.key()));
  }
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  for (const txn::RowId entry : entries) {
    if (transaction->found(entry)) transaction->update(entry);
  }
  co_return co_await transaction->commit();
}

reactor::Task<void> abandon_scan(txn::Engine& engine, std::string table, std::uint64_t duration_ns) {
  auto found = co_await engine.table(std::move(table));
  if (!found.ok()) co_return;
  const auto session = engine.open_session();
  const auto transaction = engine.begin(*session);
  {
    const auto scan = transaction->scan(*found);
    std::vector<layout::Row> rows;
    const Status status = co_await scan->next(rows);
    if (status.ok()) co_await engine.executor().sleep_for(duration_ns);
  }
}

}  // namespace namdb::sim
