// The way by primary key: whether a condition leads to it.
#pragma once

#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// Finds, for each key column, a condition `column = expression` that every row must meet, whose expression no
// row has a part in; for one of the columns `column IN (expressions)` will do. Fills source.key; leaves it
// empty unless there is one for all of them.
void find_key(Source& source);

}  // namespace namdb::sql
