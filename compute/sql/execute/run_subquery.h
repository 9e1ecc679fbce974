// A subquery of an expression: runs its query, and keeps of the rows what the expression needs.
#pragma once

#include <span>

#include "compute/sql/execute/run.h"

namespace namdb::sql {

// `run`: of the statement around it. `outer`: the values that the subquery reads of its rows.
reactor::Task<Status> run_subquery(Run* run, const Expr* expr, std::span<const Datum> outer,
                                   SubqueryRows* rows);

}  // namespace namdb::sql
