// The order of rows by ORDER BY, of a SELECT or of an aggregate.
#pragma once

#include <span>

#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// Whether the row with the left values, one for each item, comes before the other one. `work` counts the
// comparisons; it may be null.
bool comes_before(std::span<const OrderItem> order, const Datum* left, const Datum* right, Work* work);

}  // namespace namdb::sql
