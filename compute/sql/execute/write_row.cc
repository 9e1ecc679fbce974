#include "compute/sql/execute/write_row.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "common/layout/long_value.h"
#include "compute/sql/execute/long_value_rows.h"
#include "compute/sql/value/generated_column.h"

namespace namdb::sql {
namespace {

bool lies_in(std::span<const std::byte> row, std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  const std::less<const std::byte*> before;
  return !text.empty() && !before(begin, row.data()) && before(begin, row.data() + row.size());
}

// A long value that is assigned once more stays where it is. Its bytes are READ, as they are to delete it.
Status keep_same(const Run& run, const layout::RowView& row, std::uint32_t column, Datum& value) {
  if (value.null || !layout::is_long(row, column)) return {};
  const std::string_view place = layout::long_value_place(row, column);
  if (layout::unpack_long_value_place(place).length_bytes != value.text.size()) return {};
  const std::string* const there = run.long_values.find(place);
  if (there == nullptr) {
    run.long_values.want(place);
    return run.work.wait_for_long_values(run.long_values);
  }
  if (*there == value.text) value = Datum::of_place(run.arena.copy(place));
  return {};
}

// Calculates the generated columns of a row that is to be, and checks it.
Status complete_row(const Run& run, const storage::Table& table, const std::vector<CheckCondition>& checks,
                    layout::Row& row) {
  if (Status status = generate_columns(run, table, checks, row.writer()); !status.ok()) return status;
  Status status = check_not_null(row.view(), table, run.error, &run.long_values);
  return status.ok() ? check_conditions(run, table, checks, row.view()) : status;
}

}  // namespace

Status make_row(const Run& run, const InsertPlan& plan, const std::vector<ExprPtr>& values,
                std::span<const Datum> columns, layout::Row& row) {
  EvalContext context = run.context();
  context.values = columns;
  Status status = fill_row(run, *plan.table, values, context, row.writer());
  return status.ok() ? complete_row(run, *plan.table, plan.checks, row) : status;
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
    if (!status.ok()) return status;
    if (is_too_long(table.schema.columns()[column], value)) {
      long_values.emplace_back(column, value);
      continue;
    }
    if (Status stored = store_value(writer, column, value); !stored.ok()) return stored;
  }
  for (auto& [column, value] : long_values) {
    Status status = set_apart_and_store(run, table, table.schema, column, value, writer);
    if (!status.ok()) return status;
  }
  return {};
}

bool assigns_long(const layout::RowView& row, const UpdatePlan& update) {
  return std::ranges::any_of(
             update.assignments,
             [&row](const Assignment& assignment) { return layout::is_long(row, assignment.column); }) ||
         std::ranges::any_of(update.checks, [&row](const CheckCondition& check) {
           return check.generated && layout::is_long(row, *check.generated);
         });
}

bool assigns_key(const storage::Table& table, const std::vector<Assignment>& assignments) {
  return std::ranges::any_of(assignments, [&table](const Assignment& assignment) {
    return table.schema.is_key_column(assignment.column);
  });
}

namespace {

// The value of a column of an index lies in its row.
Status check_indexed(const storage::Table& table, std::uint32_t column, const layout::Column& definition,
                     const Datum& value) {
  if (!is_index_column(definition) || !is_too_long(definition, value)) return {};
  std::string name;
  for (const storage::IndexRef& index : table.indexes) {
    for (const layout::IndexColumn& part : index->shape.columns()) {
      if (part.column == column && !index->replaced()) name = index->name;
    }
  }
  return Status(ErrorCode::limit_exceeded,
                "index row size " + std::to_string(value.text.size()) + " exceeds maximum " +
                    std::to_string(definition.length_bytes) +
                    (name.empty() ? std::string() : " for index \"" + name + "\""));
}

}  // namespace

Status generate_columns(const Run& run, const storage::Table& table,
                        const std::vector<CheckCondition>& checks, layout::RowWriter writer) {
  if (checks.empty() || !checks.front().generated) return {};
  EvalContext context = run.context();
  for (const CheckCondition& check : checks) {
    if (!check.generated) break;
    const layout::RowView row = writer.view();
    context.row = &row;
    Datum value;
    Status status = evaluate(*check.condition, context, value);
    if (!value.null) run.work.charge(value.text.size());
    if (!status.ok()) return status;
    const layout::Schema& schema = row.schema();
    status = check_indexed(table, *check.generated, schema.columns()[*check.generated], value);
    if (!status.ok()) return status;
    status = set_apart_and_store(run, table, schema, *check.generated, value, writer);
    if (!status.ok()) return status;
  }
  return {};
}

// A condition that is NULL holds.
Status check_conditions(const Run& run, const storage::Table& table,
                        const std::vector<CheckCondition>& checks, const layout::RowView& row) {
  if (checks.empty()) return {};
  EvalContext context = run.context();
  context.row = &row;
  for (const CheckCondition& check : checks) {
    if (check.generated) continue;
    Datum holds;
    Status status = evaluate(*check.condition, context, holds);
    if (!status.ok()) return status;
    if (!holds.null && !holds.is_true())
      return violates_check(row, table, check.name, run.error, &run.long_values);
  }
  return {};
}

namespace {

// Those that were calculated in a copy of the row.
Status copy_generated(const Run& run, const std::vector<CheckCondition>& checks,
                      const std::optional<layout::Row>& from, layout::RowWriter to) {
  for (const CheckCondition& check : checks) {
    if (!check.generated) break;
    Datum value;
    read_column(from->view(), *check.generated, run.arena, value);
    if (Status status = store_or_place(to, *check.generated, value); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Status assign_row(Run& run, const storage::Table& table, const std::vector<Assignment>& assignments,
                  const std::vector<CheckCondition>& checks, const EvalContext& context, txn::RowId id,
                  std::optional<layout::Row>* moved) {
  absl::InlinedVector<Datum, 4> values(assignments.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (Status status = evaluate(*assignments[i].value, context, values[i]); !status.ok()) return status;
  }
  const layout::RowView row = run.transaction->row(id);
  for (std::size_t i = 0; i < values.size(); ++i) {
    Status status = keep_same(run, row, assignments[i].column, values[i]);
    if (!status.ok()) return status;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    Status status = set_apart(run, table, table.schema, assignments[i].column, values[i]);
    if (!status.ok()) return status;
  }
  // Strings that lie in the row are about to be changed.
  for (Datum& value : values) {
    if (!value.null && lies_in(row.bytes(), value.text)) value.text = run.arena.copy(value.text);
  }
  const auto store = [&](layout::RowWriter writer, bool with_key) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!with_key && table.schema.is_key_column(assignments[i].column)) continue;
      if (!values[i].null) run.work.charge(values[i].text.size());
      Status status = store_or_place(writer, assignments[i].column, values[i]);
      if (!status.ok()) return status;
    }
    return check_not_null(writer.view(), table, run.error, &run.long_values);
  };
  std::optional<layout::Row> changed;
  if (!checks.empty() || assigns_key(table, assignments)) {
    // Not in the row itself: when a condition pauses, the assignments read the old row once more.
    changed.emplace(table.schema, row.bytes());
    if (Status status = store(changed->writer(), true); !status.ok()) return status;
    if (Status status = complete_row(run, table, checks, *changed); !status.ok()) return status;
  }
  const bool moves = changed && !std::ranges::equal(changed->key(), row.key());
  if (moves && moved == nullptr)
    return Status(ErrorCode::feature_not_supported, "a new primary key in ON CONFLICT is not supported");
  // The values that it has until now.
  absl::InlinedVector<std::string, 1> gone;
  for (const Assignment& assignment : assignments) {
    if (layout::is_long(row, assignment.column))
      gone.emplace_back(layout::long_value_place(row, assignment.column));
  }
  for (const CheckCondition& check : checks) {
    if (check.generated && layout::is_long(row, *check.generated))
      gone.emplace_back(layout::long_value_place(row, *check.generated));
  }
  Status status;
  if (!moves) status = store(run.transaction->update(id), false);
  if (status.ok() && !moves) status = copy_generated(run, checks, changed, run.transaction->update(id));
  if (!status.ok()) return status;
  for (const std::string& place : gone) run.long_values.note_gone(place);
  run.long_values.note_written(moves ? changed->view() : run.transaction->row(id));
  if (moves) *moved = std::move(changed);
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
