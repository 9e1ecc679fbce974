// Compiling a routine: its statements become plans, its expressions are bound, its variables get slots.
#pragma once

#include <memory>

#include "compute/sql/bind/bind_input.h"
#include "compute/sql/plan/routine.h"
#include "compute/sql/routine/routine_source.h"

namespace namdb::sql {

// `input` has the tables and procedures that the source names, and the place of no error.
Result<std::shared_ptr<CompiledRoutine>> compile_routine(const RoutineSource& source, BindInput input);

}  // namespace namdb::sql
