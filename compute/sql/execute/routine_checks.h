// Statements that a routine must not run.
#pragma once

#include "compute/sql/execute/run.h"
#include "compute/sql/plan/routine.h"

namespace namdb::sql {

// Before `plan`, a statement of the routine, is run. `run`: of the routine. Errors read_only_transaction;
// feature_not_supported: the routine is not volatile, or the statement and one that calls the function would
// see what the other one has written, other than in PostgreSQL.
Status check_statement(const Run& run, const CompiledRoutine& routine, const Plan& plan);

}  // namespace namdb::sql
