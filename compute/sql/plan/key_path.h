// Access paths by primary key: whether a condition leads to one.
#pragma once

#include <span>

#include "compute/sql/plan/conditions.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// Finds, for each key column, a condition `column = expression` whose expression does not depend on the
// table's row; for one of the columns `column IN (expressions)` will do. Fills source.key; leaves it empty
// unless there is such a condition for all of them. Every row must meet all `conditions`.
void find_key(Source& source, std::span<const Expr* const> conditions, const TableColumns& columns);
// The same by the source's filter, if it has a table and a filter.
void find_key(Source& source);
// Whether the rows of the source are found by a key that has one value in each column: there is one at most.
bool has_one_key(const Source& source);

}  // namespace namdb::sql
