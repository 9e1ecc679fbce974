// The definitions of views and routines, as they are read from their entries in the catalog.
#pragma once

#include <memory>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/sql/catalog/view.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/routine_cache.h"

namespace namdb::sql {

// All views of the catalog of now.
reactor::Task<Result<std::vector<ViewRef>>> read_views(txn::Engine* engine);
// The signature of a routine of the catalog, perhaps from the cache, which may be null.
Result<std::shared_ptr<const RoutineSignature>> read_signature(const storage::RoutineRef& routine,
                                                               const SessionFacts& facts,
                                                               RoutineCache* cache);

}  // namespace namdb::sql
