// The results of functions: RETURN in PL/pgSQL, and the last statement of a function in SQL.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "compute/sql/bind/bind_routine.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/routine/routine_compiler.h"

namespace namdb::sql {

// RoutineSource has refused a value where there is none.
Result<Step::Body> RoutineCompiler::compile_return(const Json& body) {
  ReturnStep step;
  // At the end of the text the parser adds one, without a line.
  step.is_end_of_function = find(body, "lineno") == nullptr;
  if (const Json* const given = find(body, "expr")) {
    NAMDB_SQL_ASSIGN(step.value, value(*given));
    NAMDB_SQL_ASSIGN(SlotTarget target, target_of(routine_->result_slot, step.value->type));
    step.conversion = std::move(target.conversion);
  }
  return Step::Body(std::move(step));
}

Result<Step::Body> RoutineCompiler::compile_return_next(const Json& body) {
  ReturnNextStep step;
  const Json* const given = find(body, "expr");
  if (given != nullptr && !source_.signature()->has_outputs()) {
    NAMDB_SQL_ASSIGN(step.value, value(*given, source_.signature()->result));
  }
  return Step::Body(std::move(step));
}

// The types must be those of the result.
Result<Step::Body> RoutineCompiler::compile_return_query(const Json& body) {
  ReturnQueryStep step;
  NAMDB_SQL_ASSIGN(step.query, plan(*find(body, "query")));
  const std::vector<ResultColumn> wanted = result_columns(*source_.signature());
  const std::vector<ResultColumn>& given = step.query->columns;
  if (given.empty() && step.query->as<SelectPlan>() == nullptr)
    return Status(ErrorCode::syntax_error,
                  "cannot open " + std::string(step.query->tag) + " query as cursor");
  bool fits = wanted.size() == given.size();
  for (std::size_t i = 0; fits && i < wanted.size(); ++i) fits = wanted[i].type.id == given[i].type.id;
  if (!fits)
    return Status(ErrorCode::datatype_mismatch, "structure of query does not match function result type");
  step.conversions.resize(wanted.size());
  return Step::Body(std::move(step));
}

Result<Step::Body> RoutineCompiler::compile_end_of_transaction(const Json&) {
  return Status(ErrorCode::invalid_transaction_termination, "invalid transaction termination");
}

Status RoutineCompiler::return_mismatch(std::string detail) const {
  const RoutineSignature& signature = *source_.signature();
  if (!signature.is_function) {
    return Status(ErrorCode::invalid_function_definition,
                  "return type mismatch in procedure \"" + signature.name + "\"")
        .with_detail(std::move(detail));
  }
  const std::string declared =
      signature.result_columns > 1 ? "record" : std::string(type_name(signature.result.id));
  return Status(ErrorCode::invalid_function_definition,
                "return type mismatch in function declared to return " + declared)
      .with_detail(std::move(detail));
}

Result<Step> RoutineCompiler::compile_last_query(std::shared_ptr<const Plan> query) {
  const RoutineSignature& signature = *source_.signature();
  const std::vector<ResultColumn> wanted = result_columns(signature);
  const std::vector<ResultColumn>& given = query->columns;
  if (given.empty())
    return return_mismatch("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.");
  const bool is_scalar = signature.is_function && signature.result_columns <= 1;
  if (is_scalar && given.size() != wanted.size())
    return return_mismatch("Final statement must return exactly one column.");
  std::vector<SlotTarget> targets;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (i == wanted.size()) return return_mismatch("Final statement returns too many columns.");
    const std::string is(type_name(given[i].type.id));
    if (!can_cast(given[i].type.id, wanted[i].type.id, Coercion::assignment)) {
      return return_mismatch(is_scalar ? "Actual return type is " + is + "."
                                       : "Final statement returns " + is + " instead of " +
                                             std::string(type_name(wanted[i].type.id)) + " at column " +
                                             std::to_string(i + 1) + ".");
    }
    NAMDB_SQL_ASSIGN(SlotTarget target, target_of(routine_->result_slot, given[i].type, wanted[i].type));
    targets.push_back(std::move(target));
  }
  if (given.size() < wanted.size()) return return_mismatch("Final statement returns too few columns.");
  if (!signature.gives_rows()) {
    QueryStep step;
    step.plan = std::move(query);
    step.targets = std::move(targets);
    step.into = true;
    return Step{std::move(step)};
  }
  ReturnQueryStep step;
  step.query = std::move(query);
  for (SlotTarget& target : targets) step.conversions.push_back(std::move(target.conversion));
  return Step{std::move(step)};
}

}  // namespace namdb::sql
