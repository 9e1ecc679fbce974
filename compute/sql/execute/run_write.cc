// INSERT, UPDATE and DELETE: writes are buffered in the transaction; conflicts show at its commit.
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "compute/sql/execute/run.h"
#include "compute/sql/execute/source_keys.h"
#include "compute/sql/execute/source_scan.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxChangedRows = 1 << 20;  // of one statement
constexpr std::size_t kInsertedAtOnce = 1024;     // rows that are looked up together
constexpr std::size_t kFewKeys_bytes = 64 << 10;  // up to which they are not counted

Status matches(const Run& run, const Source& source, const layout::RowView& row, bool& out) {
  out = true;
  run.work.charge(Work::kRow_units);
  if (source.filter == nullptr) return {};
  EvalContext context = run.context();
  context.row = &row;
  return evaluate_condition(*source.filter, context, out);
}

// The row's key, if the filter selects it.
Status add_selected(const Run& run, const Source& source, const layout::Row& row, Keys& keys) {
  bool selected = false;
  if (Status status = matches(run, source, row.view(), selected); !status.ok() || !selected) return status;
  if (keys.size() >= kMaxChangedRows) {
    return Status(ErrorCode::limit_exceeded,
                  "one statement can change at most " + std::to_string(kMaxChangedRows) + " rows",
                  "change them in parts");
  }
  keys.add(row.key());
  return {};
}

// Finds all keys before it changes the first row: the statement does not read its own changes.
reactor::Task<Status> collect_keys(Run& run, const Source& source, Keys& keys, MemoryShare& memory) {
  if (!source.key.empty()) {
    Status status = co_await evaluate_keys(run, source, keys);
    while (run.work.paused()) {
      status = co_await run.take_turn();
      if (status.ok()) status = co_await evaluate_keys(run, source, keys);
    }
    run.next_row();
    co_return status;
  }
  keys.key_bytes = source.table->schema.key_bytes();
  SourceScan scan(source);
  std::vector<layout::Row> rows;
  while (true) {
    Status status = run.interrupt.check();
    if (status.ok()) status = co_await scan.next(run, 0, rows);
    if (run.work.paused()) {
      status = co_await run.take_turn();
      if (!status.ok()) co_return status;
      continue;
    }
    if (!status.ok()) co_return status;
    if (rows.empty()) co_return Status();
    run.work.charge(rows.size() * Work::kReadRow_units);
    if (keys.bytes.capacity() > kFewKeys_bytes) status = memory.resize(keys.bytes.capacity());
    if (!status.ok()) co_return status;
    for (std::size_t i = 0; i < rows.size();) {
      status = add_selected(run, source, rows[i], keys);
      const bool paused = run.work.paused();
      if (!paused) {
        run.next_row();
        ++i;
      }
      if (paused || (status.ok() && run.work.due())) status = co_await run.take_turn();
      if (!status.ok()) co_return status;
    }
  }
}

bool lies_in(std::span<const std::byte> row, std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  const std::less<const std::byte*> before;
  return !text.empty() && !before(begin, row.data()) && before(begin, row.data() + row.size());
}

Status assign(Run& run, const UpdatePlan& plan, txn::RowId id, std::vector<Datum>& values) {
  const layout::RowView row = run.transaction->row(id);
  EvalContext context = run.context();
  context.row = &row;
  values.resize(plan.assignments.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (Status status = evaluate(*plan.assignments[i].value, context, values[i]); !status.ok()) return status;
  }
  // Strings that lie in the row are about to be changed.
  for (Datum& value : values) {
    if (!value.null && lies_in(row.bytes(), value.text)) value.text = run.arena.copy(value.text);
  }
  layout::RowWriter writer = run.transaction->update(id);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].null) run.work.charge(values[i].text.size());
    Status status = store_value(writer, plan.assignments[i].column, values[i]);
    if (!status.ok()) return status;
  }
  return check_not_null(writer.view(), *plan.source.table, run.error);
}

// Calls change(row) if the row is still there and selected.
template <typename Change>
Status change_row(Run& run, const Source& source, txn::RowId row, Change& change) {
  if (!run.transaction->found(row)) return {};
  bool selected = false;
  Status status = matches(run, source, run.transaction->row(row), selected);
  if (!status.ok() || !selected) return status;
  status = change(row);
  run.work.charge(Work::kWrittenRow_units);
  if (status.ok()) ++run.affected;
  return status;
}

// Calls change(row) for each selected row. It may be called twice when it pauses.
template <typename Change>
reactor::Task<Status> change_rows(Run& run, const Source& source, Change change) {
  Keys keys;
  MemoryShare memory(run.client_memory);
  Status status = co_await collect_keys(run, source, keys, memory);
  if (!status.ok()) co_return status;
  const std::size_t count = keys.size();
  std::vector<txn::RowId> rows;
  std::uint32_t batches = 0;
  for (std::size_t begin = 0; begin < count; begin += kFetchRows) {
    status = run.interrupt.check();
    if (!status.ok()) co_return status;
    rows.clear();
    for (std::size_t i = begin; i < std::min(count, begin + kFetchRows); ++i)
      rows.push_back(run.transaction->get(source.table, keys[i]));
    status = co_await run.transaction->fetch();
    if (!status.ok()) co_return status;
    run.work.charge(rows.size() * Work::kReadRow_units);
    if (++batches % kBatchesPerYield == 0) co_await run.engine.executor().yield();
    for (std::size_t i = 0; i < rows.size();) {
      status = change_row(run, source, rows[i], change);
      const bool paused = run.work.paused();
      if (!paused) {
        run.next_row();
        ++i;
      }
      if (paused || (status.ok() && run.work.due())) status = co_await run.take_turn();
      if (!status.ok()) co_return status;
    }
  }
  co_return Status();
}

Status make_row(const Run& run, const InsertPlan& plan, const std::vector<ExprPtr>& values,
                layout::Row& row) {
  run.work.charge(Work::kRow_units);
  const EvalContext context = run.context();
  layout::RowWriter writer = row.writer();
  for (std::uint32_t column = 0; column < values.size(); ++column) {
    Datum value;
    Status status;
    if (values[column] != nullptr) status = evaluate(*values[column], context, value);
    if (!value.null) run.work.charge(value.text.size());
    if (status.ok()) status = store_value(writer, column, value);
    if (!status.ok()) return status;
  }
  return check_not_null(row.view(), *plan.table, run.error);
}

}  // namespace

reactor::Task<Status> run_insert(Run& run, const InsertPlan& plan) {
  const layout::Schema& schema = plan.table->schema;
  for (std::size_t i = 0; i < plan.rows.size();) {
    layout::Row row(schema);
    Status status = make_row(run, plan, plan.rows[i], row);
    const bool paused = run.work.paused();
    if (status.ok()) {
      run.transaction->insert(plan.table, row.bytes());
      run.work.charge(Work::kWrittenRow_units);
      run.next_row();
      ++run.affected;
      if (++i % kInsertedAtOnce == 0) status = co_await run.transaction->fetch();
    }
    if (paused || (status.ok() && run.work.due())) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  // Fetches now, so that a duplicate key is the statement's error and not the commit's.
  co_return co_await run.transaction->fetch();
}

reactor::Task<Status> run_update(Run& run, const UpdatePlan& plan) {
  std::vector<Datum> values;
  const auto change = [&run, &plan, &values](txn::RowId row) { return assign(run, plan, row, values); };
  co_return co_await change_rows(run, plan.source, change);
}

reactor::Task<Status> run_delete(Run& run, const DeletePlan& plan) {
  const auto change = [&run](txn::RowId row) {
    run.transaction->erase(row);
    return Status();
  };
  co_return co_await change_rows(run, plan.source, change);
}

}  // namespace namdb::sql
