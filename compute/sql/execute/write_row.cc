#include "compute/sql/execute/write_row.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "common/layout/long_value.h"
#include "compute/sql/execute/long_value_rows.h"

namespace namdb::sql {
namespace {

bool lies_in(std::span<const std::byte> row, std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  const std::less<const std::byte*> before;
  return !text.empty() && !before(begin, row.data()) && before(begin, row.data() + row.size());
}

}  // namespace

Status make_row(const Run& run, const InsertPlan& plan, const std::vector<ExprPtr>& values,
                std::span<const Datum> columns, layout::Row& row) {
  EvalContext context = run.context();
  context.values = columns;
  Status status = fill_row(run, *plan.table, values, context, row.writer());
  if (status.ok()) status = check_not_null(row.view(), *plan.table, run.error, &run.long_values);
  return status.ok() ? check_conditions(run, *plan.table, plan.checks, row.view()) : status;
}

Status fill_row(const Run& run, const storage::Table& table, const std::vector<ExprPtr>& values,
                const EvalContext& context, layout::RowWriter writer) {
  run.work.charge(Work::kRow_units);
  // They are made once no expression can pause any more.
  absl::InlinedVector<std::pair<std::uint32_t, Datum>, 2> long_values;
  for (std::uint32_t column = 0; column < values.size(); ++column) {
    Datum value;
    Status status;
    if (values[column] != nullptr) status = evaluate(*values[column], context, value);
    if (!value.null) run.work.charge(value.text.size());
    if (status.ok() && is_too_long(table.schema.columns()[column], value)) {
      long_values.emplace_back(column, value);
      continue;
    }
    if (status.ok()) status = store_value(writer, column, value);
    if (!status.ok()) return status;
  }
  for (auto& [column, value] : long_values) {
    Status status = set_apart(run, table, table.schema, column, value);
    if (status.ok()) status = store_or_place(writer, column, value);
    if (!status.ok()) return status;
  }
  return {};
}

bool assigns_long(const layout::RowView& row, const std::vector<Assignment>& assignments) {
  return std::ranges::any_of(
      assignments, [&row](const Assignment& assignment) { return layout::is_long(row, assignment.column); });
}

// A condition that is NULL holds.
Status check_conditions(const Run& run, const storage::Table& table,
                        const std::vector<CheckCondition>& checks, const layout::RowView& row) {
  if (checks.empty()) return {};
  EvalContext context = run.context();
  context.row = &row;
  for (const CheckCondition& check : checks) {
    Datum holds;
    Status status = evaluate(*check.condition, context, holds);
    if (!status.ok()) return status;
    if (!holds.null && !holds.is_true())
      return violates_check(row, table, check.name, run.error, &run.long_values);
  }
  return {};
}

Status assign_row(Run& run, const storage::Table& table, const std::vector<Assignment>& assignments,
                  const std::vector<CheckCondition>& checks, const EvalContext& context, txn::RowId id) {
  absl::InlinedVector<Datum, 4> values(assignments.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (Status status = evaluate(*assignments[i].value, context, values[i]); !status.ok()) return status;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    Status status = set_apart(run, table, table.schema, assignments[i].column, values[i]);
    if (!status.ok()) return status;
  }
  // Strings that lie in the row are about to be changed.
  const layout::RowView row = run.transaction->row(id);
  for (Datum& value : values) {
    if (!value.null && lies_in(row.bytes(), value.text)) value.text = run.arena.copy(value.text);
  }
  const auto store = [&](layout::RowWriter writer) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i].null) run.work.charge(values[i].text.size());
      Status status = store_or_place(writer, assignments[i].column, values[i]);
      if (!status.ok()) return status;
    }
    return check_not_null(writer.view(), table, run.error, &run.long_values);
  };
  if (!checks.empty()) {
    // Not in the row itself: when a condition pauses, the assignments read the old row once more.
    layout::Row changed(table.schema, row.bytes());
    Status status = store(changed.writer());
    if (status.ok()) status = check_conditions(run, table, checks, changed.view());
    if (!status.ok()) return status;
  }
  // The values that it has until now.
  absl::InlinedVector<std::string, 1> gone;
  for (const Assignment& assignment : assignments) {
    if (layout::is_long(row, assignment.column))
      gone.emplace_back(layout::long_value_place(row, assignment.column));
  }
  Status status = store(run.transaction->update(id));
  if (!status.ok()) return status;
  for (const std::string& place : gone) run.long_values.note_gone(place);
  run.long_values.note_written(run.transaction->row(id));
  return {};
}

Status Returning::evaluate(const Run& run, const EvalContext& context) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (Status status = sql::evaluate(*targets_[i], context, values_[i]); !status.ok()) return status;
    if (!values_[i].null) run.work.charge_bytes(values_[i].text.size());
  }
  return {};
}

reactor::Task<Status> Returning::give_row(Run* run, txn::RowId row) {
  const auto evaluate_row = [&] {
    if (!run->transaction->found(row)) return Status(ErrorCode::internal, "the row of RETURNING is gone");
    const layout::RowView view = run->transaction->row(row);
    EvalContext context = run->context();
    context.row = &view;
    return evaluate(*run, context);
  };
  Status status = evaluate_row();
  if (run->work.paused()) status = co_await run->resume(evaluate_row);
  if (!status.ok()) co_return status;
  give(*run);
  run->next_row();
  if (run->work.due()) status = co_await run->take_turn();
  if (status.ok() && run->sink.congested()) status = co_await run->sink.relieve();
  co_return status;
}

}  // namespace namdb::sql
