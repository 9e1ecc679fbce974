// The input of binding: tables, procedures and parameter types.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compute/procedure/registry.h"
#include "compute/sql/bind/variable_scope.h"
#include "compute/sql/catalog/view.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/plan/routine.h"
#include "compute/sql/syntax/error_fields.h"

namespace namdb::sql {

struct BindInput {
  // The tables that the statement, or a procedure that it calls, names. A table that does not exist is
  // missing.
  std::map<std::string, storage::TableRef, std::less<>> tables;
  // Their indexes: a copy of each table's list, since a long statement is bound on the planning thread, while
  // the worker may replace the list of the table.
  std::map<const storage::Table*, std::vector<storage::IndexRef>> indexes;
  // By id: the tables that those reference by foreign keys, or are referenced by; and so on. Empty where the
  // database has no foreign keys.
  std::map<std::uint32_t, storage::TableRef> related;
  // The views that the statement names, or another view of them does.
  std::map<std::string, ViewRef, std::less<>> views;
  // The sequences that the statement reads as if they were tables.
  std::set<std::string, std::less<>> sequences;
  const procedure::ProcedureRegistry* procedures = nullptr;
  // The routines written in SQL that the statement calls.
  std::map<std::string, std::shared_ptr<const RoutineSignature>, std::less<>> routines;
  // Of the procedure whose statement it is; null: it is the client's. Their types are `parameters`.
  const VariableScope* variables = nullptr;
  // The types that the client declared for $1, $2, ...; unknown where it left them open.
  std::vector<Type> parameters;
  const SessionFacts* facts = nullptr;
  // The plan of the prepared statement that EXECUTE names, or of the portal that FETCH does; null: there is
  // none.
  std::shared_ptr<const Plan> named;
  std::uint64_t catalog_version = 0;
  std::string_view text;        // of the statement
  ErrorPlace* place = nullptr;  // receives the position of an error; may be null
};

}  // namespace namdb::sql
