// Statements that run to their end at once: all but SELECT.
#pragma once

#include "compute/sql/execute/run.h"

namespace namdb::sql {

// Both outlive the task.
reactor::Task<Status> run_to_end(Run& run, const Plan& plan);

}  // namespace namdb::sql
