// The way by a secondary index: whether there is one, and which keys it leads over.
#pragma once

#include <span>
#include <vector>

#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// Chooses the one of its indexes whose leading columns the filter says most of, by equality or IN, then by
// one range; and between equals, or when there is no condition, one that gives the wanted order. Sets
// source.index_path if there is any. True when the rows then come in that order. There are no statistics: a
// condition on an index is always taken for better than reading the whole table.
bool find_index_path(Source& source, std::span<const storage::IndexRef> indexes,
                     std::span<const OrderItem> order);

}  // namespace namdb::sql
