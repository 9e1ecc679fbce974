// The way by a secondary index: whether there is one, and which keys it leads over.
#pragma once

#include <span>
#include <vector>

#include "compute/sql/expression.h"
#include "compute/sql/plan.h"
#include "compute/sql/run.h"

namespace namdb::sql {

// Chooses the index whose leading columns the filter says most of, by equality or IN, then by one range; and
// between equals, or when there is no condition, one that gives the wanted order. Sets source.index_path if
// there is any. True when the rows then come in that order. There are no statistics: a condition on an index
// is always taken for better than reading the whole table.
bool find_index_path(Source& source, std::span<const OrderItem> order);

// The ranges of keys, in the order of the scan, without common keys. Values that no stored row can have give
// none. Errors are those of the expressions; when the work is paused (Work::paused()), it is called again. Of
// a long list others have their turns meanwhile.
reactor::Task<Status> evaluate_ranges(Run& run, const IndexPath& path, std::vector<txn::IndexRange>& ranges);

}  // namespace namdb::sql
