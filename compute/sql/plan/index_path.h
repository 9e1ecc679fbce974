// Access paths by secondary index: whether there is one, and which keys it reads.
#pragma once

#include <span>
#include <vector>

#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/conditions.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// Chooses among `indexes` of the source's table the one whose leading columns the conditions restrict most:
// by equality or IN, then by one range, or several that OR connects. Among equals, or without conditions, it
// chooses an index that gives the wanted order. Sets source.index_path if there is one. Returns true when the
// rows then come in that order. There are no statistics: reading by an index is always taken for cheaper than
// reading the whole table.
bool find_index_path(Source& source, std::span<const Expr* const> conditions, const TableColumns& columns,
                     std::span<const storage::IndexRef> indexes, std::span<const OrderItem> order);
// The same by the source's filter.
bool find_index_path(Source& source, std::span<const storage::IndexRef> indexes,
                     std::span<const OrderItem> order);

}  // namespace namdb::sql
