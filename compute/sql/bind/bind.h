// From a syntax tree to a plan: names become tables, columns and procedures, types are inferred, the way to
// the rows is chosen. Whatever the subset does not hold is refused by its name. Neither suspends nor runs
// anything: the tables that a statement names are looked up before (tables_named_by).
#pragma once

#include <string>
#include <vector>

#include "compute/procedure/registry.h"
#include "compute/sql/bind/bind_input.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {

std::vector<std::string> tables_named_by(Node statement, const procedure::ProcedureRegistry& procedures);

Result<Plan> bind_statement(Node statement, const BindInput& input);

}  // namespace namdb::sql
