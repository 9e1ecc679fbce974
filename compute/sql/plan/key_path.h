// Access paths by primary key: whether a condition leads to one.
#pragma once

#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// Finds, for each key column, a condition `column = expression` that every row must meet and whose expression
// does not depend on the row; for one of the columns `column IN (expressions)` will do. Fills source.key;
// leaves it empty unless there is such a condition for all of them.
void find_key(Source& source);

}  // namespace namdb::sql
