// Whether an expression has one value for one row, whenever it is evaluated and with whatever settings: as
// generated columns and indexes need it.
#pragma once

#include "compute/sql/expression/expression.h"

namespace namdb::sql {

// False of what depends on the time, on a session or its settings, or on other rows; and of functions that
// are written in SQL.
bool is_immutable(const Expr& expr);

}  // namespace namdb::sql
