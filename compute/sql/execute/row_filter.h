// The condition of a scan, for many rows: comparisons of a stored column with a value that is the same for
// all rows are made on the row's bytes. They are those that the condition begins with; the rest of it is
// evaluated as an expression, for the rows that are left. In a join they only reject rows: the condition
// names columns by their slots, which the row does not have yet.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class RowFilter {
 public:
  // `condition` outlives the filter; null: every row is selected.
  explicit RowFilter(const Expr* condition);
  // The filter of a table of a join.
  explicit RowFilter(const JoinedSource& joined);

  // Whether one of the comparisons is not true of the context's row. It cannot fail.
  bool rejects(const EvalContext& context) const;
  // The comparisons are all of the condition.
  bool is_stored() const { return rest_.empty(); }
  // Decides on the context's row. If the work is paused it is called again.
  Status select(const EvalContext& context, bool& selected) const;

 private:
  // Both are stored as integers.
  struct Comparison {
    std::uint32_t column = 0;
    char op = ' ';  // of ExprKind::compare, with the column on the left
    const Expr* value = nullptr;
  };
  // The conditions that AND connects, from the left. False: one of the conditions is not such a comparison,
  // and the rest begins with it.
  bool take(const Expr& condition);
  static bool holds(const Comparison& comparison, const EvalContext& context);

  const Expr* condition_;  // null: there is none
  std::vector<Comparison> comparisons_;
  std::vector<const Expr*> rest_;
};

}  // namespace namdb::sql
