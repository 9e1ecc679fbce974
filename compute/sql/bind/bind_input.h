// The input of binding: tables, procedures and parameter types.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compute/procedure/registry.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/syntax/error_fields.h"

namespace namdb::sql {

struct BindInput {
  // The tables that the statement, or a procedure that it calls, names. A table that does not exist is
  // missing.
  std::map<std::string, storage::TableRef, std::less<>> tables;
  // Their indexes: a copy of each table's list, since a long statement is bound on the planning thread, while
  // the worker may replace the list of the table.
  std::map<const storage::Table*, std::vector<storage::IndexRef>> indexes;
  const procedure::ProcedureRegistry* procedures = nullptr;
  // The types that the client declared for $1, $2, ...; unknown where it left them open.
  std::vector<Type> parameters;
  const SessionFacts* facts = nullptr;
  std::uint64_t catalog_version = 0;
  ErrorPlace* place = nullptr;  // receives the position of an error; may be null
};

}  // namespace namdb::sql
