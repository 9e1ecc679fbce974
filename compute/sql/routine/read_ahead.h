// Rows that a procedure reads ahead. The rows of a later statement are read together with those of the first
// statement after which nothing changes their keys. So statements that do not depend on one another take one
// round trip for all their rows, as if the procedure had asked for all of them at once.
//
// Only rows of SELECT, UPDATE and DELETE by key, and of INSERT of one row, are read ahead, within one list of
// steps, and not beyond loops, blocks, calls and ends of the procedure: a row that is read ahead will
// probably be used.
#pragma once

#include "compute/sql/plan/routine.h"

namespace namdb::sql {

// Fills QueryStep::ahead of all steps of a routine that is compiled.
void plan_reads_ahead(CompiledRoutine& routine);

}  // namespace namdb::sql
