// The ranges of an index's keys that a statement reads.
#pragma once

#include <span>
#include <vector>

#include "compute/sql/execute/run.h"

namespace namdb::sql {

// The ranges of keys, in the order of the scan, without keys in common. In a join the expressions read the
// columns of `outer`, the row of the tables before. A value that no stored row can have
// gives no range. Errors are those of the expressions. When the work is paused (Work::paused()), it is called
// again. Other sessions have their turns within a long list.
reactor::Task<Status> evaluate_ranges(Run& run, const IndexPath& path, std::span<const Datum> outer,
                                      std::vector<txn::IndexRange>& ranges);

}  // namespace namdb::sql
