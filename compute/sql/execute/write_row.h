// The steps of INSERT, UPDATE, DELETE and ON CONFLICT on one row.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// So many rows that are inserted are looked up together.
inline constexpr std::size_t kInsertedAtOnce = 1024;

// When the work is paused (Work::paused()), each of these is called again.

// Evaluates the values of the plan's row, which may read `columns`; a null pointer means NULL. Its
// constraints are checked, but those of other rows.
Status make_row(const Run& run, const InsertPlan& plan, const std::vector<ExprPtr>& values,
                std::span<const Datum> columns, layout::Row& row);
// Evaluates values in the context, and stores them in a row of the table, whose columns they are.
Status fill_row(const Run& run, const storage::Table& table, const std::vector<ExprPtr>& values,
                const EvalContext& context, layout::RowWriter writer);

// Calculates those of the checks that are generated columns, and stores them in the row that is to be.
Status generate_columns(const Run& run, const storage::Table& table,
                        const std::vector<CheckCondition>& checks, layout::RowWriter writer);
// Evaluates the others of the checks of a row that is to be. check_violation, with details in the run's
// error.
Status check_conditions(const Run& run, const storage::Table& table,
                        const std::vector<CheckCondition>& checks, const layout::RowView& row);

// Evaluates the assignments in the context, whose row may be that one, and then writes them and the generated
// columns into the row. Its constraints are checked as above. If its primary key changes, the row stays as it
// is, and `moved` becomes what is to be inserted in its place; null: that is refused.
Status assign_row(Run& run, const storage::Table& table, const std::vector<Assignment>& assignments,
                  const std::vector<CheckCondition>& checks, const EvalContext& context, txn::RowId id,
                  std::optional<layout::Row>* moved);

// Whether the assignments have a column of the table's primary key.
bool assigns_key(const storage::Table& table, const std::vector<Assignment>& assignments);

// Whether the row has long values in columns that the UPDATE changes.
bool assigns_long(const layout::RowView& row, const UpdatePlan& update);

// RETURNING: the row's output columns.
class Returning {
 public:
  // The targets outlive this.
  explicit Returning(const std::vector<ExprPtr>& targets) : targets_(targets), values_(targets.size()) {}

  bool wanted() const { return !targets_.empty(); }
  // Evaluates the columns in the context of the row; they last until the run's next row.
  Status evaluate(const Run& run, const EvalContext& context);
  // Gives the row that was evaluated last to the client.
  void give(Run& run) const { run.sink.add_row(values_); }
  // Both, of a row as the transaction has it now; others have their turns.
  reactor::Task<Status> give_row(Run* run, txn::RowId row);

 private:
  const std::vector<ExprPtr>& targets_;
  std::vector<Datum> values_;
};

}  // namespace namdb::sql
