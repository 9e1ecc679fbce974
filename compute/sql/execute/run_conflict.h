// INSERT ... ON CONFLICT.
#pragma once

#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// The plan has a ConflictPlan. A row conflicts with the one that the transaction sees under its primary key,
// or in a unique index; rows that the statement itself has inserted count, too.
reactor::Task<Status> run_insert_or_conflict(Run& run, const InsertPlan& plan);

}  // namespace namdb::sql
