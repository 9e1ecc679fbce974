// The values that conditions leave to a column of a key or of an index.
#pragma once

#include <vector>

#include "compute/sql/execute/run.h"

namespace namdb::sql {

struct ColumnValue {
  Datum value;
  Type type;
  bool wants_null = false;  // IS NULL
};

// Evaluates the expressions; a null pointer means NULL. Of an array each element is a value, and there are
// none of an array that is NULL. Errors are those of the expressions, also while the work is paused
// (Work::paused()): then it is called again. Other sessions have their turns within a long list.
reactor::Task<Status> evaluate_values(Run& run, const std::vector<ExprPtr>* exprs, EvalContext context,
                                      std::vector<ColumnValue>* values);

}  // namespace namdb::sql
