#include "compute/sql/bind/bind_routine.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxArguments = 100;  // as in PostgreSQL

Status bad_definition(std::string message) {
  return Status(ErrorCode::invalid_function_definition, std::move(message));
}

Result<RoutineParameter> bind_routine_parameter(const Json& body, const SessionFacts* facts) {
  RoutineParameter parameter;
  parameter.name = text(body, "name");
  const std::string_view mode = text(body, "mode");
  if (mode == "FUNC_PARAM_OUT") {
    parameter.mode = RoutineParameter::Mode::out;
  } else if (mode == "FUNC_PARAM_INOUT") {
    parameter.mode = RoutineParameter::Mode::in_out;
  } else if (mode != "FUNC_PARAM_IN" && mode != "FUNC_PARAM_DEFAULT") {
    return unsupported(mode == "FUNC_PARAM_VARIADIC" ? "a VARIADIC parameter" : "RETURNS TABLE");
  }
  const Result<Type> type = bind_type(*find(body, "argType"));
  if (!type.ok() && type.status().code() == ErrorCode::undefined_object) {
    // PostgreSQL's message for a parameter has the name without quotation marks.
    std::string message(type.status().message());
    std::erase(message, '"');
    return Status(ErrorCode::undefined_object, std::move(message));
  }
  if (!type.ok()) return type.status();
  parameter.type = Type{type->id};  // a parameter has no length, as in PostgreSQL
  const Json* const value = find(body, "defexpr");
  if (value == nullptr) return parameter;
  if (parameter.mode == RoutineParameter::Mode::out)
    return bad_definition("only input parameters can have default values");
  std::vector<Type> none;
  ExpressionBinder expressions(none, facts, nullptr);
  expressions.set_aggregates(nullptr, "DEFAULT expressions");
  NAMDB_SQL_ASSIGN(parameter.default_value, expressions.bind(*value));
  if (!none.empty()) return Status(ErrorCode::undefined_parameter, "there is no parameter $1");
  NAMDB_SQL_CHECK(expressions.coerce(parameter.default_value, parameter.type, Coercion::assignment));
  return parameter;
}

Status bind_routine_parameters(const Json& body, const SessionFacts* facts, RoutineSignature& signature) {
  std::set<std::string> names_taken;
  bool has_default = false;
  for (const Json& item : list(body, "parameters")) {
    NAMDB_SQL_ASSIGN(RoutineParameter parameter, bind_routine_parameter(*node(item).body, facts));
    if (!parameter.name.empty() && !names_taken.insert(parameter.name).second)
      return bad_definition("parameter name \"" + parameter.name + "\" used more than once");
    const bool is_input = parameter.mode != RoutineParameter::Mode::out;
    if (is_input && has_default && parameter.default_value == nullptr)
      return bad_definition("input parameters after one with a default value must also have defaults");
    has_default = has_default || parameter.default_value != nullptr;
    signature.parameters.push_back(std::move(parameter));
  }
  if (signature.parameters.size() > kMaxArguments) {
    return Status(ErrorCode::limit_exceeded,
                  "functions cannot have more than " + std::to_string(kMaxArguments) + " arguments");
  }
  return {};
}

// The string that an option gives.
std::string_view option_text(const Json& option) {
  const Json* const argument = find(option, "arg");
  const Node value = argument == nullptr ? Node() : node(*argument);
  return value.kind == "String" ? text(*value.body, "sval") : std::string_view();
}

Status bind_language(std::string_view language, RoutineSignature& signature) {
  if (language == "sql") {
    signature.language = RoutineLanguage::sql;
  } else if (language == "plpgsql") {
    signature.language = RoutineLanguage::plpgsql;
  } else if (language == "c" || language == "internal") {
    return Status(ErrorCode::feature_not_supported, "LANGUAGE " + std::string(language) + " is not supported",
                  "the operator loads such procedures: nam-computed --procedure-library");
  } else {
    return Status(ErrorCode::undefined_object, "language \"" + std::string(language) + "\" does not exist");
  }
  return {};
}

Status bind_routine_options(const Json& body, RoutineSignature& signature) {
  bool has_language = false;
  bool has_body = false;
  for (const Json& item : list(body, "options")) {
    const Json& option = *node(item).body;
    const std::string_view name = text(option, "defname");
    if (name == "language") {
      NAMDB_SQL_CHECK(bind_language(option_text(option), signature));
      has_language = true;
    } else if (name == "as") {
      const std::vector<std::string_view> parts = names(list(*node(*find(option, "arg")).body, "items"));
      if (parts.size() != 1) return bad_definition("only one AS item needed for this language");
      signature.body = parts.front();
      has_body = true;
    } else if (name == "security") {
      const Json* const definer = find(option, "arg");
      const Node value = definer == nullptr ? Node() : node(*definer);
      if (value.body != nullptr && flag(*value.body, "boolval")) return unsupported("SECURITY DEFINER");
    } else if (name == "volatility" || name == "strict" || name == "leakproof" || name == "cost" ||
               name == "rows" || name == "parallel" || name == "support" || name == "window") {
      return bad_definition("invalid attribute in procedure definition");
    } else {
      return unsupported("CREATE PROCEDURE ... " + std::string(name));
    }
  }
  if (find(body, "sql_body") != nullptr) return unsupported("BEGIN ATOMIC");
  if (!has_body) return bad_definition("no function body specified");
  if (!has_language) return bad_definition("no language specified");
  return {};
}

}  // namespace

Result<RoutineSignature> bind_signature(const Json& create, const SessionFacts* facts) {
  if (!flag(create, "is_procedure")) return unsupported("CREATE FUNCTION");
  NAMDB_SQL_CHECK(only(create, "CREATE PROCEDURE",
                       {"is_procedure", "replace", "funcname", "parameters", "options", "sql_body"}));
  const std::vector<std::string_view> parts = names(list(create, "funcname"));
  if (parts.empty() || parts.size() > 2) return unsupported("a name with a database");
  if (parts.size() == 2) NAMDB_SQL_CHECK(check_schema(parts[0]));
  RoutineSignature signature;
  signature.name = parts.back();
  NAMDB_SQL_CHECK(bind_routine_parameters(create, facts, signature));
  NAMDB_SQL_CHECK(bind_routine_options(create, signature));
  return signature;
}

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

Result<Plan> bind_create_routine(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_ASSIGN(RoutineSignature signature, bind_signature(body, binder.input.facts));
  if (binder.input.procedures->find(signature.name) != nullptr) {
    return Status(ErrorCode::duplicate_function, "procedure \"" + signature.name + "\" already exists",
                  "it comes from a library that the operator has loaded");
  }
  CreateRoutinePlan create;
  create.definition.name = signature.name;
  create.definition.text = binder.input.text;
  create.replaces = flag(body, "replace");
  create.signature = std::make_shared<const RoutineSignature>(std::move(signature));
  Plan plan;
  plan.tag = "CREATE PROCEDURE";
  plan.body = std::move(create);
  return plan;
}

Result<Plan> bind_drop_routine(const Json& body) {
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
        NAMDB_SQL_ASSIGN(const Type type, bind_type(*node(argument).body));
        dropped.types->push_back(type.id);
      }
    }
    drop.routines.push_back(std::move(dropped));
  }
  Plan plan;
  plan.tag = text(body, "removeType") == "OBJECT_ROUTINE" ? "DROP ROUTINE" : "DROP PROCEDURE";
  plan.body = std::move(drop);
  return plan;
}

CallArguments match_arguments(const Json& call, const RoutineSignature& signature) {
  const std::vector<RoutineParameter>& parameters = signature.parameters;
  CallArguments arguments;
  arguments.values.resize(parameters.size());
  std::size_t position = 0;
  for (const Json& argument : list(call, "args")) {
    const Node value = node(argument);
    const bool is_named = value.kind == "NamedArgExpr";
    std::size_t index = position++;
    const Json* given = &argument;
    if (is_named) {
      const auto named = std::ranges::find(parameters, text(*value.body, "name"), &RoutineParameter::name);
      index = static_cast<std::size_t>(named - parameters.begin());
      given = find(*value.body, "arg");
    }
    arguments.fits = arguments.fits && index < parameters.size() && arguments.values[index] == nullptr;
    if (!arguments.fits) return arguments;
    arguments.values[index] = given;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
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

}  // namespace

Result<Plan> bind_routine_call(StatementBinder& binder, const Json& call,
                               const std::shared_ptr<const RoutineSignature>& signature) {
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
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
  bool has_names = false;
  for (const Json& argument : list(call, "args")) {
    const bool is_named = node(argument).kind == "NamedArgExpr";
    if (has_names && !is_named)
      return Status(ErrorCode::syntax_error, "positional argument cannot follow named argument");
    has_names = is_named;
  }
  const CallArguments given = match_arguments(call, *signature);
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
    if (parameter.mode == RoutineParameter::Mode::out) value = nullptr;
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

}  // namespace namdb::sql
