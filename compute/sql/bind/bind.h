// Binding: from a syntax tree to a plan. Names become tables, columns and procedures, types are inferred, and
// the access path to the rows is chosen. A construct outside of the supported subset is refused by its name.
// Binding neither suspends nor runs anything: the caller has looked up the tables that a statement names
// (tables_named_by).
#pragma once

#include <string>
#include <vector>

#include "compute/procedure/registry.h"
#include "compute/sql/bind/bind_input.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {

std::vector<std::string> tables_named_by(Node statement, const procedure::ProcedureRegistry& procedures);

// The procedures and functions that the statement calls, without functions that the server has.
std::vector<std::string> routines_named_by(Node statement);

Result<Plan> bind_statement(Node statement, const BindInput& input);

}  // namespace namdb::sql
