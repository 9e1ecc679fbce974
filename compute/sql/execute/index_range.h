// The ranges of an index's keys that a statement reads.
#pragma once

#include <vector>

#include "compute/sql/execute/run.h"

namespace namdb::sql {

// The ranges of keys, in the order of the scan, without common keys. Values that no stored row can have give
// none. Errors are those of the expressions; when the work is paused (Work::paused()), it is called again. Of
// a long list others have their turns meanwhile.
reactor::Task<Status> evaluate_ranges(Run& run, const IndexPath& path, std::vector<txn::IndexRange>& ranges);

}  // namespace namdb::sql
