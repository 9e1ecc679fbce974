// The steps of INSERT, UPDATE, DELETE and ON CONFLICT on one row.
#pragma once

#include <span>
#include <vector>

#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// So many rows that are inserted are looked up together.
inline constexpr std::size_t kInsertedAtOnce = 1024;

// When the work is paused (Work::paused()), each of these is called again.

// Evaluates the values of a new row, which may read `columns`; a null pointer means NULL.
Status make_row(const Run& run, const storage::Table& table, const std::vector<ExprPtr>& values,
                std::span<const Datum> columns, layout::Row& row);

// Evaluates the assignments in the context, whose row may be that one, and then writes them into it.
Status assign_row(Run& run, const storage::Table& table, const std::vector<Assignment>& assignments,
                  const EvalContext& context, txn::RowId id);

// RETURNING: the row's output columns.
class Returning {
 public:
  // The targets outlive this.
  explicit Returning(const std::vector<ExprPtr>& targets) : targets_(targets), values_(targets.size()) {}

  bool wanted() const { return !targets_.empty(); }
  // Evaluates the columns, which last until the run's next row.
  Status evaluate(const Run& run, const layout::RowView& row);
  // Gives the row that was evaluated last to the client.
  void give(Run& run) const { run.sink.add_row(values_); }
  // Both, of a row as the transaction has it now; others have their turns.
  reactor::Task<Status> give_row(Run* run, txn::RowId row);

 private:
  const std::vector<ExprPtr>& targets_;
  std::vector<Datum> values_;
};

}  // namespace namdb::sql
