// The relation that a condition on the rows of a system catalog asks about: so a query about one table need
// not make rows about thousands.
#pragma once

#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {

// Of a table of the catalog, which is a source of its own, or (`joined`) one of a join. The condition is
// evaluated for the rows all the same. One that is not understood here asks about all relations.
WantedRelation wanted_relation(const Source& source, const JoinedSource* joined, const Run& run);

}  // namespace namdb::sql
