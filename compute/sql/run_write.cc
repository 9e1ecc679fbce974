// INSERT, UPDATE and DELETE: writes are buffered in the transaction; conflicts show at its commit.
#include <vector>

#include "compute/sql/run.h"
#include "compute/sql/source_keys.h"
#include "compute/sql/source_scan.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxChangedRows = 1 << 20;  // of one statement

Status matches(const Run& run, const Source& source, const layout::RowView& row, bool& out) {
  out = true;
  if (source.filter == nullptr) return {};
  EvalContext context = run.context();
  context.row = &row;
  return evaluate_condition(*source.filter, context, out);
}

// All keys are found before the first row is changed: the statement does not meet its own changes.
reactor::Task<Status> collect_keys(Run& run, const Source& source, Keys& keys) {
  if (!source.key.empty()) {
    const EvalContext context = run.context();
    co_return evaluate_keys(source, context, keys);
  }
  keys.key_bytes = source.table->schema.key_bytes();
  SourceScan scan(source);
  std::vector<layout::Row> rows;
  while (true) {
    Status status = run.interrupt.check();
    if (status.ok()) status = co_await scan.next(run, 0, rows);
    if (!status.ok()) co_return status;
    if (rows.empty()) co_return Status();
    for (const layout::Row& row : rows) {
      bool selected = false;
      const layout::RowView view = row.view();
      status = matches(run, source, view, selected);
      if (!status.ok()) co_return status;
      run.arena.reset();
      if (!selected) continue;
      if (keys.size() >= kMaxChangedRows) {
        co_return Status(ErrorCode::limit_exceeded,
                         "one statement can change at most " + std::to_string(kMaxChangedRows) + " rows",
                         "change them in parts");
      }
      keys.add(row.key());
    }
  }
}

Status assign(Run& run, const UpdatePlan& plan, txn::RowId id, std::vector<Datum>& values) {
  const layout::RowView row = run.transaction->row(id);
  EvalContext context = run.context();
  context.row = &row;
  values.resize(plan.assignments.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (Status status = evaluate(*plan.assignments[i].value, context, values[i]); !status.ok()) return status;
    // A string may lie in the row that is about to be changed.
    if (!values[i].null && !values[i].text.empty()) values[i].text = run.arena.copy(values[i].text);
  }
  layout::RowWriter writer = run.transaction->update(id);
  for (std::size_t i = 0; i < values.size(); ++i) {
    Status status = store_value(writer, plan.assignments[i].column, plan.source.table->name, values[i]);
    if (!status.ok()) return status;
  }
  run.arena.reset();
  return {};
}

// Calls change(row) for each selected row.
template <typename Change>
reactor::Task<Status> change_rows(Run& run, const Source& source, Change change) {
  Keys keys;
  Status status = co_await collect_keys(run, source, keys);
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
    if (++batches % kBatchesPerYield == 0) co_await run.engine.executor().yield();
    for (const txn::RowId row : rows) {
      if (!run.transaction->found(row)) continue;
      bool selected = false;
      const layout::RowView view = run.transaction->row(row);
      status = matches(run, source, view, selected);
      run.arena.reset();
      if (status.ok() && selected) {
        status = change(row);
        ++run.affected;
      }
      if (!status.ok()) co_return status;
    }
  }
  co_return Status();
}

}  // namespace

reactor::Task<Status> run_insert(Run& run, const InsertPlan& plan) {
  const layout::Schema& schema = plan.table->schema;
  const EvalContext context = run.context();
  for (const std::vector<ExprPtr>& values : plan.rows) {
    layout::Row row(schema);
    layout::RowWriter writer = row.writer();
    for (std::uint32_t column = 0; column < values.size(); ++column) {
      Datum value;
      Status status;
      if (values[column] != nullptr) status = evaluate(*values[column], context, value);
      if (status.ok()) status = store_value(writer, column, plan.table->name, value);
      if (!status.ok()) co_return status;
    }
    run.transaction->insert(plan.table, row.bytes());
    run.arena.reset();
    ++run.affected;
  }
  // Tells of duplicate keys now, as the statement's error and not the commit's.
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
