#include "compute/sql/bind/bind_routine.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {

Result<std::shared_ptr<const RoutineSignature>> signature_of(const storage::RoutineRef& routine,
                                                             const SessionFacts* facts) {
  const auto parsed = parse_sql(routine->definition);
  const auto* const tree = std::get_if<SyntaxTree>(&parsed);
  if (tree == nullptr || tree->statement_count() != 1 || tree->statement(0).kind != "CreateFunctionStmt")
    return Status(ErrorCode::internal, "the definition of \"" + routine->name + "\" cannot be read");
  NAMDB_SQL_ASSIGN(RoutineSignature signature, bind_signature(*tree->statement(0).body, facts));
  signature.routine = routine;
  return std::make_shared<const RoutineSignature>(std::move(signature));
}

namespace {

// Whether the result's type has the name of a table, which has been looked up.
bool returns_table(const StatementBinder& binder, const Json& create) {
  const Json* const returns = find(create, "returnType");
  if (returns == nullptr) return false;
  const std::vector<std::string_view> parts = names(list(*returns, "names"));
  return !parts.empty() && binder.input.tables.contains(parts.back());
}

}  // namespace

Result<Plan> bind_create_routine(StatementBinder& binder, const Json& body) {
  Result<RoutineSignature> bound = bind_signature(body, binder.input.facts);
  if (!bound.ok() && bound.status().code() == ErrorCode::undefined_object && returns_table(binder, body))
    return unsupported("a function that returns rows of a table");
  if (!bound.ok()) return bound.status();
  RoutineSignature signature = std::move(bound).value();
  if (signature.is_function && is_builtin_function(signature.name)) {
    return unsupported("a function with the name of one that the server has, " + signature.name + ",");
  }
  if (binder.input.procedures->find(signature.name) != nullptr) {
    return Status(ErrorCode::duplicate_function, "procedure \"" + signature.name + "\" already exists",
                  "it comes from a library that the operator has loaded");
  }
  CreateRoutinePlan create;
  create.definition.name = signature.name;
  create.definition.text = binder.input.text;
  create.replaces = flag(body, "replace");
  const bool is_function = signature.is_function;
  create.signature = std::make_shared<const RoutineSignature>(std::move(signature));
  Plan plan;
  plan.tag = is_function ? "CREATE FUNCTION" : "CREATE PROCEDURE";
  plan.body = std::move(create);
  return plan;
}

Result<Plan> bind_drop_routine(const Json& body, const SessionFacts* facts) {
  DropRoutinePlan drop;
  drop.if_exists = flag(body, "missing_ok");
  for (const Json& item : list(body, "objects")) {
    const Json& object = *node(item).body;
    const std::vector<std::string_view> parts = names(list(object, "objname"));
    if (parts.empty() || parts.size() > 2) return unsupported("a name with a database");
    if (parts.size() == 2) NAMDB_SQL_CHECK(check_schema(parts[0]));
    DropRoutinePlan::Dropped dropped;
    dropped.name = parts.back();
    if (!flag(object, "args_unspecified")) {
      dropped.types.emplace();
      for (const Json& argument : list(object, "objargs")) {
        NAMDB_SQL_ASSIGN(const Type type, bind_type(*node(argument).body, facts));
        dropped.types->push_back(type.id);
      }
    }
    drop.routines.push_back(std::move(dropped));
  }
  Plan plan;
  using Kind = DropRoutinePlan::Kind;
  const std::string_view kind = text(body, "removeType");
  drop.kind = kind == "OBJECT_ROUTINE"    ? Kind::routine
              : kind == "OBJECT_FUNCTION" ? Kind::function
                                          : Kind::procedure;
  plan.tag = drop.kind == Kind::routine    ? "DROP ROUTINE"
             : drop.kind == Kind::function ? "DROP FUNCTION"
                                           : "DROP PROCEDURE";
  plan.body = std::move(drop);
  return plan;
}

CallArguments match_arguments(const Json& call, const RoutineSignature& signature) {
  const std::vector<RoutineParameter>& parameters = signature.parameters;
  CallArguments arguments;
  arguments.values.resize(parameters.size());
  std::vector<std::size_t> passed;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (signature.passes(parameters[i])) passed.push_back(i);
  }
  std::size_t position = 0;
  for (const Json& argument : list(call, "args")) {
    const Node value = node(argument);
    const bool is_named = value.kind == "NamedArgExpr";
    std::size_t index = position < passed.size() ? passed[position] : parameters.size();
    ++position;
    const Json* given = &argument;
    if (is_named) {
      const auto named = std::ranges::find(parameters, text(*value.body, "name"), &RoutineParameter::name);
      index = static_cast<std::size_t>(named - parameters.begin());
      given = find(*value.body, "arg");
    }
    arguments.fits = arguments.fits && index < parameters.size() && signature.passes(parameters[index]) &&
                     arguments.values[index] == nullptr;
    if (!arguments.fits) return arguments;
    arguments.values[index] = given;
  }
  for (const std::size_t i : passed) {
    if (arguments.values[i] == nullptr && parameters[i].default_value == nullptr) arguments.fits = false;
  }
  return arguments;
}

namespace {

// "integer, unknown": the types of the arguments as they stand.
Result<std::string> types_of_arguments(ExpressionBinder& expressions, const Json& call) {
  std::string types;
  for (const Json& argument : list(call, "args")) {
    const Node value = node(argument);
    const bool is_named = value.kind == "NamedArgExpr";
    NAMDB_SQL_ASSIGN(const ExprPtr bound, expressions.bind(is_named ? *find(*value.body, "arg") : argument));
    if (!types.empty()) types += ", ";
    if (is_named) types += std::string(text(*value.body, "name")) + " => ";
    types += type_name(bound->type.id);
  }
  return types;
}

Status check_named_arguments(const Json& call) {
  bool has_names = false;
  for (const Json& argument : list(call, "args")) {
    const bool is_named = node(argument).kind == "NamedArgExpr";
    if (has_names && !is_named)
      return Status(ErrorCode::syntax_error, "positional argument cannot follow named argument");
    has_names = is_named;
  }
  return {};
}

}  // namespace

std::vector<ResultColumn> result_columns(const RoutineSignature& signature) {
  std::vector<ResultColumn> columns;
  for (const RoutineParameter& parameter : signature.parameters) {
    if (!parameter.gives()) continue;
    const std::string name =
        parameter.name.empty() ? "column" + std::to_string(columns.size() + 1) : parameter.name;
    columns.push_back({name, parameter.type});
  }
  if (columns.empty()) columns.push_back({signature.name, signature.result});
  return columns;
}

std::string_view name_of_routine(const Json& name) {
  const std::vector<std::string_view> parts = names(name);
  const bool is_plain = parts.size() == 1 && !is_builtin_function(parts[0]);
  const bool is_public = parts.size() == 2 && parts[0] == "public";
  return is_plain || is_public ? parts.back() : std::string_view();
}

std::shared_ptr<const RoutineSignature> ExpressionBinder::routine_called(const Json& call) const {
  if (routines_ == nullptr || routines_->input.routines.empty()) return nullptr;
  const auto found = routines_->input.routines.find(name_of_routine(list(call, "funcname")));
  return found == routines_->input.routines.end() ? nullptr : found->second;
}

Result<ExprPtr> ExpressionBinder::bind_routine(const Json& call,
                                               const std::shared_ptr<const RoutineSignature>& signature) {
  NAMDB_SQL_CHECK(check_named_arguments(call));
  if (!signature->is_function) {
    NAMDB_SQL_ASSIGN(const std::string types, types_of_arguments(*this, call));
    return Status(ErrorCode::wrong_object_type, signature->name + "(" + types + ") is a procedure",
                  "To call a procedure, use CALL.");
  }
  const auto no_such = [&]() -> Status {
    NAMDB_SQL_ASSIGN(const std::string types, types_of_arguments(*this, call));
    return Status(ErrorCode::undefined_function,
                  "function " + signature->name + "(" + types + ") does not exist",
                  "No function matches the given name and argument types. You might need to add explicit "
                  "type casts.");
  };
  const CallArguments given = match_arguments(call, *signature);
  if (!given.fits) return no_such();
  auto routine = std::make_shared<RoutineCall>();
  routine->signature = signature;
  routine->name = signature->name;
  routine->is_strict = signature->is_strict;
  routine->is_volatile = !signature->only_reads();
  routine->gives_rows = signature->gives_rows();
  ExprPtr expr = make_expr(ExprKind::routine, signature->result);
  for (std::uint32_t i = 0; i < signature->parameters.size(); ++i) {
    const RoutineParameter& parameter = signature->parameters[i];
    if (!parameter.is_input()) continue;
    ExprPtr value;
    if (given.values[i] != nullptr) {
      NAMDB_SQL_ASSIGN(value, bind(*given.values[i]));
      if (value->type.id != TypeId::unknown &&
          !can_cast(value->type.id, parameter.type.id, Coercion::implicit))
        return no_such();
      NAMDB_SQL_CHECK(coerce(value, parameter.type, Coercion::implicit));
    } else {
      value = clone(*parameter.default_value);
    }
    expr->args.push_back(std::move(value));
    routine->parameters.push_back(i);
  }
  routines_->reads_tables = true;  // perhaps
  require_execute(*routines_, signature->name, "function");
  routines_->calls_routines = true;
  routines_->calls_volatile = routines_->calls_volatile || routine->is_volatile;
  expr->routine = std::move(routine);
  return expr;
}

Result<Plan> bind_routine_call(StatementBinder& binder, const Json& call,
                               const std::shared_ptr<const RoutineSignature>& signature) {
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
  expressions.set_routines(&binder);
  expressions.set_variables(binder.input.variables);
  expressions.set_aggregates(nullptr, "CALL arguments");
  const auto no_such = [&]() -> Status {
    NAMDB_SQL_ASSIGN(const std::string types, types_of_arguments(expressions, call));
    return located(binder.input.place, call,
                   Status(ErrorCode::undefined_function,
                          "procedure " + signature->name + "(" + types + ") does not exist",
                          "No procedure matches the given name and argument types. You might need to add "
                          "explicit type casts."));
  };
  NAMDB_SQL_CHECK(check_named_arguments(call));
  const CallArguments given = match_arguments(call, *signature);
  if (signature->is_function) {
    NAMDB_SQL_ASSIGN(const std::string types, types_of_arguments(expressions, call));
    return located(
        binder.input.place, call,
        Status(ErrorCode::wrong_object_type, signature->name + "(" + types + ") is not a procedure",
               "To call a function, use SELECT."));
  }
  if (!given.fits) return no_such();
  CallRoutinePlan plan_body;
  Plan plan;
  plan.tag = "CALL";
  for (std::size_t i = 0; i < signature->parameters.size(); ++i) {
    const RoutineParameter& parameter = signature->parameters[i];
    ExprPtr value;
    if (given.values[i] != nullptr) {
      NAMDB_SQL_ASSIGN(value, expressions.bind(*given.values[i]));
      if (value->type.id != TypeId::unknown &&
          !can_cast(value->type.id, parameter.type.id, Coercion::implicit))
        return no_such();
      NAMDB_SQL_CHECK(expressions.coerce(value, parameter.type, Coercion::implicit));
    } else {
      value = clone(*parameter.default_value);
    }
    if (!parameter.is_input()) value = nullptr;
    plan_body.arguments.push_back(std::move(value));
    if (parameter.gives()) {
      const std::string name =
          parameter.name.empty() ? "column" + std::to_string(plan.columns.size() + 1) : parameter.name;
      plan.columns.push_back({name, parameter.type});
    }
  }
  plan_body.signature = signature;
  plan.body = std::move(plan_body);
  return plan;
}

Result<Plan> bind_do(StatementBinder& binder, const Json& body) {
  std::string_view code;
  std::string_view language = "plpgsql";
  bool has_code = false;
  for (const Json& item : list(body, "args")) {
    const Json& option = *node(item).body;
    const std::string_view value = text(*node(*find(option, "arg")).body, "sval");
    if (text(option, "defname") == "language") {
      language = value;
      continue;
    }
    if (has_code)
      return located(binder.input.place, option,
                     Status(ErrorCode::syntax_error, "conflicting or redundant options"));
    code = value;
    has_code = true;
  }
  if (!has_code) return Status(ErrorCode::syntax_error, "no inline code specified");
  if (language == "sql" || language == "c" || language == "internal") {
    return Status(ErrorCode::feature_not_supported,
                  "language \"" + std::string(language) + "\" does not support inline code execution");
  }
  if (language != "plpgsql")
    return Status(ErrorCode::undefined_object, "language \"" + std::string(language) + "\" does not exist");
  std::string quoted;
  for (const char c : code) quoted.append(c == '\'' ? 2 : 1, c);
  auto routine = std::make_shared<storage::Routine>();
  routine->name = "inline_code_block";
  routine->definition = "CREATE PROCEDURE inline_code_block() LANGUAGE plpgsql AS '" + quoted + "'";
  CallRoutinePlan call;
  NAMDB_SQL_ASSIGN(call.signature, signature_of(routine, binder.input.facts));
  Plan plan;
  plan.tag = "DO";
  plan.body = std::move(call);
  return plan;
}

}  // namespace namdb::sql
