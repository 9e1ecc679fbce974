// A SELECT that takes the rows of one source, one after the other, by the source's condition, and computes
// its targets from each of them: nothing is joined, grouped, sorted, counted, locked, or compared with other
// rows.
#pragma once

#include "compute/sql/plan/plan.h"

namespace namdb::sql {

inline bool is_plain(const SelectPlan& select) {
  return select.join == nullptr && !select.grouped && select.having == nullptr && !select.distinct &&
         select.distinct_on == 0 && select.locks.empty() && select.order.empty() && select.limit == nullptr &&
         select.offset == nullptr;
}

}  // namespace namdb::sql
