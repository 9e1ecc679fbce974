#include "tools/namsim/workloads/tables.h"

#include <algorithm>

namespace namdb::sim {
namespace {

// Rows of one transaction.
constexpr std::size_t kBatch = 10;

}  // namespace

layout::Key key_of(const layout::Schema& schema, std::int64_t key) {
  return std::move(layout::Key(schema).integer(key));
}

reactor::Task<Status> create_table(txn::Engine& engine, std::string name, layout::Schema schema,
                                   std::uint64_t size_hint_rows, std::uint32_t ring_slots) {
  txn::TableOptions options;
  options.size_hint_rows = size_hint_rows;
  options.ring_slots = ring_slots;
  Status status = co_await engine.create_table(std::move(name), std::move(schema), options);
  if (!status.ok() && status.code() == ErrorCode::duplicate_table) status = Status();
  co_return status;
}

reactor::Task<Status> put_rows(txn::Engine& engine, std::string table, const std::vector<layout::Row>* rows) {
  auto found = co_await engine.table(table);
  if (!found.ok()) co_return found.status();
  const auto session = engine.open_session();
  for (std::size_t first = 0; first < rows->size(); first += kBatch) {
    const std::size_t end = std::min(first + kBatch, rows->size());
    const auto transaction = engine.begin(*session);
    std::vector<txn::RowId> there;
    for (std::size_t i = first; i < end; ++i) there.push_back(transaction->get(*found, (*rows)[i].key()));
    Status status = co_await transaction->fetch();
    for (std::size_t i = first; i < end && status.ok(); ++i) {
      if (!transaction->found(there[i - first])) transaction->insert(*found, (*rows)[i].bytes());
    }
    if (status.ok()) status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->commit();
    if (!status.ok()) co_return status;
  }
  co_return Status();
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
