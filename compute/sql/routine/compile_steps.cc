// The steps of a routine in PL/pgSQL.
#include <algorithm>
#include <array>
#include <utility>

#include "compute/sql/bind/bind_routine.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/routine/routine_compiler.h"

namespace namdb::sql {
namespace {

// Statements that nest deeper than this are refused.
constexpr std::size_t kMaxDepth = 200;

// How the context of an error calls the step.
std::string_view step_name(std::string_view kind) {
  if (kind == "PLpgSQL_stmt_assign") return "assignment";
  if (kind == "PLpgSQL_stmt_if") return "IF";
  if (kind == "PLpgSQL_stmt_case") return "CASE";
  if (kind == "PLpgSQL_stmt_block") return "statement block";
  if (kind == "PLpgSQL_stmt_fori") return "FOR with integer loop variable";
  if (kind == "PLpgSQL_stmt_fors") return "FOR over SELECT rows";
  if (kind == "PLpgSQL_stmt_return") return "RETURN";
  if (kind == "PLpgSQL_stmt_return_next") return "RETURN NEXT";
  if (kind == "PLpgSQL_stmt_return_query") return "RETURN QUERY";
  if (kind == "PLpgSQL_stmt_commit") return "COMMIT";
  if (kind == "PLpgSQL_stmt_rollback") return "ROLLBACK";
  if (kind == "PLpgSQL_stmt_raise") return "RAISE";
  if (kind == "PLpgSQL_stmt_perform") return "PERFORM";
  if (kind == "PLpgSQL_stmt_call") return "CALL";
  return "SQL statement";
}

Status no_destination() {
  return Status(ErrorCode::syntax_error, "query has no destination for result data",
                "If you want to discard the results of a SELECT, use PERFORM instead.");
}

}  // namespace

Status RoutineCompiler::compile_steps(const Json& items, Steps& steps) {
  for (const Json& item : items) {
    NAMDB_SQL_ASSIGN(Step step, compile_step(node(item)));
    steps.push_back(std::move(step));
  }
  return {};
}

Result<Step> RoutineCompiler::compile_step(Node step) {
  if (depth_ >= kMaxDepth)
    return Status(ErrorCode::statement_too_complex, "the " + kind() + " is nested too deeply");
  ++depth_;
  Result<Step> compiled = compile_nested_step(step);
  --depth_;
  return compiled;
}

Result<Step> RoutineCompiler::compile_nested_step(Node step) {
  const std::size_t depth = scope_.depth();
  const std::size_t handlers = handlers_.size();
  Result<Step::Body> body = compile_body(step);
  Step compiled;
  compiled.line = static_cast<std::uint32_t>(integer(*step.body, "lineno"));
  if (!body.ok()) {
    scope_.return_to(depth);
    handlers_.resize(handlers);
    compiled.body = FailStep{body.status(), step_name(step.kind)};
    return compiled;
  }
  compiled.body = std::move(body).value();
  return compiled;
}

Result<Step::Body> RoutineCompiler::compile_body(Node step) {
  using Compile = Result<Step::Body> (RoutineCompiler::*)(const Json&);
  struct Kind {
    std::string_view name;
    Compile compile;
  };
  static constexpr std::array kKinds = {
      Kind{"PLpgSQL_stmt_block", &RoutineCompiler::compile_block},
      Kind{"PLpgSQL_stmt_assign", &RoutineCompiler::compile_assignment},
      Kind{"PLpgSQL_stmt_if", &RoutineCompiler::compile_if},
      Kind{"PLpgSQL_stmt_case", &RoutineCompiler::compile_case},
      Kind{"PLpgSQL_stmt_loop", &RoutineCompiler::compile_loop},
      Kind{"PLpgSQL_stmt_while", &RoutineCompiler::compile_while},
      Kind{"PLpgSQL_stmt_fori", &RoutineCompiler::compile_range_loop},
      Kind{"PLpgSQL_stmt_fors", &RoutineCompiler::compile_query_loop},
      Kind{"PLpgSQL_stmt_foreach_a", &RoutineCompiler::compile_array_loop},
      Kind{"PLpgSQL_stmt_exit", &RoutineCompiler::compile_leave},
      Kind{"PLpgSQL_stmt_return", &RoutineCompiler::compile_return},
      Kind{"PLpgSQL_stmt_return_next", &RoutineCompiler::compile_return_next},
      Kind{"PLpgSQL_stmt_return_query", &RoutineCompiler::compile_return_query},
      Kind{"PLpgSQL_stmt_commit", &RoutineCompiler::compile_end_of_transaction},
      Kind{"PLpgSQL_stmt_rollback", &RoutineCompiler::compile_end_of_transaction},
      Kind{"PLpgSQL_stmt_raise", &RoutineCompiler::compile_raise},
      Kind{"PLpgSQL_stmt_execsql", &RoutineCompiler::compile_query},
      Kind{"PLpgSQL_stmt_perform", &RoutineCompiler::compile_perform},
      Kind{"PLpgSQL_stmt_call", &RoutineCompiler::compile_invocation},
      Kind{"PLpgSQL_stmt_getdiag", &RoutineCompiler::compile_diagnostics},
      Kind{"PLpgSQL_stmt_assert", &RoutineCompiler::compile_assert}};
  const auto kind = std::ranges::find(kKinds, step.kind, &Kind::name);
  if (kind == kKinds.end()) return unsupported("this statement of PL/pgSQL");
  return (this->*kind->compile)(*step.body);
}

Result<Step::Body> RoutineCompiler::compile_block(const Json& body) {
  BlockStep block;
  block.label = text(body, "label");
  scope_.enter(block.label);
  for (const Declared& declared : declared_[&body])
    NAMDB_SQL_CHECK(declare_variable(declared.name, declared.datum, block));
  NAMDB_SQL_CHECK(compile_steps(list(body, "body"), block.steps));
  if (const Json* const exceptions = find(body, "exceptions"))
    NAMDB_SQL_CHECK(compile_handlers(*node(*exceptions).body, block));
  for (const Declared& declared : declared_[&body]) {
    // A record whose fields its first assignment has given.
    const RoutineVariable* const record = scope_.variable(declared.datum);
    if (!record->is_record || record->has_row_type || !record->fields) continue;
    for (const RoutineVariable::Field& field : *record->fields) {
      routine_->slots[field.slot].record = record->name;
      block.initial.push_back({field.slot, nullptr});
    }
  }
  scope_.leave();
  return Step::Body(std::move(block));
}

Result<Step::Body> RoutineCompiler::compile_assignment(const Json& body) {
  AssignStep assign;
  NAMDB_SQL_ASSIGN(assign.slot, assignable(static_cast<std::uint32_t>(integer(body, "varno"))));
  NAMDB_SQL_ASSIGN(assign.value, value(*find(body, "expr"), routine_->slots[assign.slot].type));
  return Step::Body(std::move(assign));
}

Result<Step::Body> RoutineCompiler::compile_if(const Json& body) {
  IfStep branches;
  const auto add = [&](const Json& part, const char* steps) -> Status {
    IfStep::Branch branch;
    NAMDB_SQL_ASSIGN(branch.condition, condition(*find(part, "cond")));
    NAMDB_SQL_CHECK(compile_steps(list(part, steps), branch.steps));
    branches.branches.push_back(std::move(branch));
    return {};
  };
  NAMDB_SQL_CHECK(add(body, "then_body"));
  for (const Json& item : list(body, "elsif_list")) NAMDB_SQL_CHECK(add(*node(item).body, "stmts"));
  IfStep::Branch otherwise;
  NAMDB_SQL_CHECK(compile_steps(list(body, "else_body"), otherwise.steps));
  branches.branches.push_back(std::move(otherwise));
  return Step::Body(std::move(branches));
}

// The value that is compared is in a variable, which the conditions name.
Result<Step::Body> RoutineCompiler::compile_case(const Json& body) {
  const auto line = static_cast<std::uint32_t>(integer(body, "lineno"));
  BlockStep block;
  scope_.enter({});
  if (const Json* const compared = find(body, "t_expr")) {
    AssignStep assign;
    NAMDB_SQL_ASSIGN(assign.value, value(*compared));
    const auto datum = static_cast<std::uint32_t>(integer(body, "t_varno"));
    RoutineVariable variable;
    variable.name = text(*node(list(source_.tree().function, "datums")[datum]).body, "refname");
    variable.slot = scope_.add_slot(variable.name, assign.value->type);
    assign.slot = variable.slot;
    assign.of_case = true;
    scope_.declare(datum, std::move(variable));
    block.steps.push_back(Step{std::move(assign), line});
  }
  IfStep branches;
  for (const Json& item : list(body, "case_when_list")) {
    IfStep::Branch branch;
    NAMDB_SQL_ASSIGN(branch.condition, condition(*find(*node(item).body, "expr")));
    NAMDB_SQL_CHECK(compile_steps(list(*node(item).body, "stmts"), branch.steps));
    branches.branches.push_back(std::move(branch));
  }
  branches.of_case = true;
  branches.must_hold = !flag(body, "have_else");
  if (!branches.must_hold) {
    IfStep::Branch otherwise;
    NAMDB_SQL_CHECK(compile_steps(list(body, "else_stmts"), otherwise.steps));
    branches.branches.push_back(std::move(otherwise));
  }
  block.steps.push_back(Step{std::move(branches), line});
  scope_.leave();
  return Step::Body(std::move(block));
}

Result<Step::Body> RoutineCompiler::compile_loop(const Json& body) {
  LoopStep loop;
  loop.label = text(body, "label");
  NAMDB_SQL_CHECK(compile_steps(list(body, "body"), loop.steps));
  return Step::Body(std::move(loop));
}

Result<Step::Body> RoutineCompiler::compile_while(const Json& body) {
  LoopStep loop;
  NAMDB_SQL_ASSIGN(loop.condition, condition(*find(body, "cond")));
  loop.label = text(body, "label");
  NAMDB_SQL_CHECK(compile_steps(list(body, "body"), loop.steps));
  return Step::Body(std::move(loop));
}

Result<Step::Body> RoutineCompiler::compile_range_loop(const Json& body) {
  RangeLoopStep loop;
  const Type type{TypeId::int4};
  NAMDB_SQL_ASSIGN(loop.first, value(*find(body, "lower"), type));
  NAMDB_SQL_ASSIGN(loop.last, value(*find(body, "upper"), type));
  if (const Json* const step = find(body, "step")) {
    NAMDB_SQL_ASSIGN(loop.step, value(*step, type));
  }
  loop.reverse = flag(body, "reverse");
  loop.label = text(body, "label");
  RoutineVariable variable;
  variable.name = text(*node(*find(body, "var")).body, "refname");
  const std::uint32_t datum = loop_datums_[&body];
  variable.slot = scope_.add_slot(variable.name, type);
  loop.slot = variable.slot;
  scope_.enter(loop.label);
  scope_.declare(datum, std::move(variable));
  NAMDB_SQL_CHECK(compile_steps(list(body, "body"), loop.steps));
  scope_.leave();
  return Step::Body(std::move(loop));
}

Result<Step::Body> RoutineCompiler::compile_query_loop(const Json& body) {
  QueryLoopStep loop;
  NAMDB_SQL_ASSIGN(loop.query, plan(*find(body, "query")));
  if (loop.query->columns.empty() || loop.query->is_call())
    return Status(ErrorCode::syntax_error,
                  "cannot open " + std::string(loop.query->tag) + " query as cursor");
  NAMDB_SQL_ASSIGN(loop.targets, targets(*find(body, "var"), loop.query->columns));
  loop.label = text(body, "label");
  NAMDB_SQL_CHECK(compile_steps(list(body, "body"), loop.steps));
  return Step::Body(std::move(loop));
}

Result<Step::Body> RoutineCompiler::compile_array_loop(const Json& body) {
  if (integer(body, "slice") != 0) return unsupported("FOREACH ... SLICE");
  ArrayLoopStep loop;
  NAMDB_SQL_ASSIGN(loop.array, value(*find(body, "expr")));
  if (!loop.array->type.is_array())
    return Status(ErrorCode::datatype_mismatch, "FOREACH expression must yield an array, not type " +
                                                    std::string(type_name(loop.array->type.id)));
  NAMDB_SQL_ASSIGN(const std::uint32_t slot, assignable(static_cast<std::uint32_t>(integer(body, "varno"))));
  NAMDB_SQL_ASSIGN(SlotTarget target, target_of(slot, Type{element_type(loop.array->type.id)}));
  loop.targets.push_back(std::move(target));
  loop.label = text(body, "label");
  NAMDB_SQL_CHECK(compile_steps(list(body, "body"), loop.steps));
  return Step::Body(std::move(loop));
}

Result<Step::Body> RoutineCompiler::compile_leave(const Json& body) {
  LeaveStep leave;
  leave.continues = !flag(body, "is_exit");
  leave.label = text(body, "label");
  if (const Json* const when = find(body, "cond")) {
    NAMDB_SQL_ASSIGN(leave.condition, condition(*when));
  }
  return Step::Body(std::move(leave));
}

Result<Step::Body> RoutineCompiler::compile_query(const Json& body) {
  QueryStep query;
  NAMDB_SQL_ASSIGN(query.plan, plan(*find(body, "sqlstmt")));
  query.into = flag(body, "into");
  query.strict = flag(body, "strict");
  query.one_at_most = query.plan->as<SelectPlan>() == nullptr;
  if (!query.into) {
    if (query.plan->gives_rows()) return no_destination();
    return Step::Body(std::move(query));
  }
  if (query.plan->columns.empty())
    return Status(ErrorCode::syntax_error, "INTO used with a command that cannot return data");
  NAMDB_SQL_ASSIGN(query.targets, targets(*find(body, "target"), query.plan->columns));
  return Step::Body(std::move(query));
}

Result<Step::Body> RoutineCompiler::compile_perform(const Json& body) {
  QueryStep query;
  NAMDB_SQL_ASSIGN(query.plan, plan(*find(body, "expr")));
  return Step::Body(std::move(query));
}

// Output parameters go to the variables that are their arguments.
Result<Step::Body> RoutineCompiler::compile_invocation(const Json& body) {
  InvokeStep invoke;
  NAMDB_SQL_ASSIGN(invoke.call, plan(*find(body, "expr")));
  const auto* const routine = invoke.call->as<CallRoutinePlan>();
  if (routine == nullptr) return Step::Body(std::move(invoke));
  const Node call = source_.fragment(*node(*find(body, "expr")).body);
  const CallArguments given = match_arguments(*find(*call.body, "funccall"), *routine->signature);
  const std::vector<RoutineParameter>& parameters = routine->signature->parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].gives()) continue;
    const Node argument = given.values[i] == nullptr ? Node() : node(*given.values[i]);
    const RoutineVariable* variable = nullptr;
    if (argument.kind == "ColumnRef") {
      const std::vector<std::string_view> parts = names(list(*argument.body, "fields"));
      if (parts.size() == 1) variable = scope_.named(parts[0]);
    }
    if (variable == nullptr || variable->is_record || variable->is_constant) {
      return Status(ErrorCode::syntax_error, "procedure parameter \"" + parameters[i].name +
                                                 "\" is an output parameter but corresponding argument is "
                                                 "not writable");
    }
    NAMDB_SQL_ASSIGN(SlotTarget target, target_of(variable->slot, parameters[i].type));
    invoke.targets.push_back(std::move(target));
  }
  return Step::Body(std::move(invoke));
}

Result<Step::Body> RoutineCompiler::compile_assert(const Json& body) {
  AssertStep assertion;
  NAMDB_SQL_ASSIGN(assertion.condition, condition(*find(body, "cond")));
  if (const Json* const message = find(body, "message")) {
    NAMDB_SQL_ASSIGN(assertion.message, value(*message, Type{TypeId::text}));
  }
  return Step::Body(std::move(assertion));
}

}  // namespace namdb::sql
