// The tables that a procedure's definition names, looked up for a run of it.
#pragma once

#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/table.h"
#include "compute/procedure/procedure.h"

namespace namdb::procedure {

// In the definition's order. undefined_table.
Task<Result<std::vector<storage::TableRef>>> resolve_tables(txn::Engine& engine,
                                                            const Definition& definition);

}  // namespace namdb::procedure
