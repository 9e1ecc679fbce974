// Procedures and functions that are written in SQL or PL/pgSQL: CREATE, DROP, and their calls.
#pragma once

#include <memory>

#include "compute/api/routine.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/plan/routine.h"

namespace namdb::sql {

// The signature in a CREATE PROCEDURE or CREATE FUNCTION statement. `facts`: of the session, for the
// parameters' defaults.
Result<RoutineSignature> bind_signature(const Json& create, const SessionFacts* facts);
// The same of a routine of the catalog. Error internal: its definition is damaged.
Result<std::shared_ptr<const RoutineSignature>> signature_of(const storage::RoutineRef& routine,
                                                             const SessionFacts* facts);

Result<Plan> bind_create_routine(StatementBinder& binder, const Json& body);
Result<Plan> bind_drop_routine(const Json& body, const SessionFacts* facts);
// The columns of a function's rows: its output parameters, or its one value.
std::vector<ResultColumn> result_columns(const RoutineSignature& signature);
// The arguments of a call, those by position first.
struct CallArguments {
  std::vector<const Json*> values;  // of each parameter; null: none is given
  bool fits = true;
};
CallArguments match_arguments(const Json& call, const RoutineSignature& signature);
// CALL of a procedure that is written in SQL. `call`: the FuncCall.
Result<Plan> bind_routine_call(StatementBinder& binder, const Json& call,
                               const std::shared_ptr<const RoutineSignature>& signature);

// DO: a call of a procedure of PL/pgSQL that only this statement has.
Result<Plan> bind_do(StatementBinder& binder, const Json& body);

}  // namespace namdb::sql
