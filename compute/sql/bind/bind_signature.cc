// The signatures of procedures and functions, from their CREATE statements.
#include "compute/sql/bind/bind_routine.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxOfRoutine = 100;  // as in PostgreSQL

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
  } else if (mode == "FUNC_PARAM_TABLE") {
    parameter.mode = RoutineParameter::Mode::table;
  } else if (mode != "FUNC_PARAM_IN" && mode != "FUNC_PARAM_DEFAULT") {
    return unsupported("a VARIADIC parameter");
  }
  const Result<Type> type = bind_type(*find(body, "argType"), facts);
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
  if (!parameter.is_input()) return bad_definition("only input parameters can have default values");
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
    if (parameter.is_input() && has_default && parameter.default_value == nullptr)
      return bad_definition("input parameters after one with a default value must also have defaults");
    has_default = has_default || parameter.default_value != nullptr;
    signature.parameters.push_back(std::move(parameter));
  }
  if (signature.parameters.size() > kMaxOfRoutine) {
    return Status(ErrorCode::limit_exceeded,
                  "functions cannot have more than " + std::to_string(kMaxOfRoutine) + " arguments");
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

// The word of an option that is a constant: "100", "true".
std::string constant_text(const Json& option) {
  const Json* const argument = find(option, "arg");
  const Node value = argument == nullptr ? Node() : node(*argument);
  if (value.kind == "Integer") return std::to_string(integer(*value.body, "ival"));
  if (value.kind == "Float") return std::string(text(*value.body, "fval"));
  return std::string(option_text(option));
}

// Whether a flag is set: LEAKPROOF, and NOT LEAKPROOF.
bool is_set(const Json& option) {
  const Json* const argument = find(option, "arg");
  const Node value = argument == nullptr ? Node() : node(*argument);
  return value.body != nullptr && flag(*value.body, "boolval");
}

Status bind_volatility(std::string_view word, RoutineSignature& signature) {
  signature.volatility = word == "immutable" ? RoutineVolatility::immutable
                         : word == "stable"  ? RoutineVolatility::stable
                                             : RoutineVolatility::is_volatile;
  return {};
}

// An option that only functions have.
Status bind_function_option(std::string_view name, const Json& option, RoutineSignature& signature) {
  if (!signature.is_function) return bad_definition("invalid attribute in procedure definition");
  if (name == "volatility") return bind_volatility(option_text(option), signature);
  if (name == "strict") {
    signature.is_strict = is_set(option);
  } else if (name == "leakproof") {
    if (is_set(option)) return unsupported("LEAKPROOF");
  } else if (name == "cost") {
    signature.cost = constant_text(option);
    if (signature.cost.starts_with('-') || signature.cost == "0")
      return Status(ErrorCode::invalid_parameter_value, "COST must be positive");
  } else if (name == "rows") {
    signature.rows = constant_text(option);
    if (!signature.returns_set) {
      return Status(ErrorCode::invalid_parameter_value,
                    "ROWS is not applicable when function does not return a set");
    }
    if (signature.rows.starts_with('-') || signature.rows == "0")
      return Status(ErrorCode::invalid_parameter_value, "ROWS must be positive");
  } else if (name == "parallel") {
    signature.parallel = option_text(option);
    if (signature.parallel != "safe" && signature.parallel != "unsafe" && signature.parallel != "restricted")
      return Status(ErrorCode::syntax_error, "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE");
  } else {
    return unsupported("CREATE FUNCTION ... " + std::string(name == "window" ? "WINDOW" : "SUPPORT"));
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
      if (is_set(option)) return unsupported("SECURITY DEFINER");
    } else if (name == "volatility" || name == "strict" || name == "leakproof" || name == "cost" ||
               name == "rows" || name == "parallel" || name == "support" || name == "window") {
      NAMDB_SQL_CHECK(bind_function_option(name, option, signature));
    } else {
      return unsupported(std::string(signature.is_function ? "CREATE FUNCTION" : "CREATE PROCEDURE") +
                         " ... " + std::string(name));
    }
  }
  if (const Json* const own = find(body, "sql_body")) {
    signature.is_expression = signature.is_function && node(*own).kind == "ReturnStmt";
    if (!signature.is_expression) return unsupported("BEGIN ATOMIC");
    if (has_body) return bad_definition("duplicate function body specified");
    if (signature.language != RoutineLanguage::sql)
      return bad_definition("inline SQL function body only valid for language SQL");
    return {};
  }
  if (!has_body) return bad_definition("no function body specified");
  if (!has_language) return bad_definition("no language specified");
  return {};
}

// RETURNS, beside the output parameters, which say the same.
Status bind_result(const Json& create, const SessionFacts* facts, RoutineSignature& signature) {
  std::vector<Type> outputs;
  bool is_table = false;
  for (const RoutineParameter& parameter : signature.parameters) {
    if (parameter.gives()) outputs.push_back(parameter.type);
    is_table = is_table || parameter.mode == RoutineParameter::Mode::table;
  }
  const Json* const returns = find(create, "returnType");
  if (returns == nullptr && outputs.empty()) return bad_definition("function result type must be specified");
  signature.result_columns = std::max<std::size_t>(outputs.size(), 1);
  signature.result = outputs.empty() ? Type{TypeId::text} : outputs.front();
  if (returns == nullptr) return {};
  Json named = *returns;
  signature.returns_set = flag(named, "setof");
  named.erase("setof");
  const std::string_view name = name_in_catalog(list(named, "names"));
  if (name == "trigger" || name == "event_trigger") return unsupported("RETURNS " + std::string(name));
  if (outputs.empty() && name == "record") return unsupported("RETURNS record without output parameters");
  if (outputs.empty() && name == "void") {
    if (signature.returns_set) return unsupported("RETURNS SETOF void");
    signature.returns_nothing = true;
    return {};
  }
  if (outputs.size() > 1 || is_table) {
    if (name != "record" && !is_table)
      return bad_definition("function result type must be record because of OUT parameters");
    return {};
  }
  NAMDB_SQL_ASSIGN(const Type type, bind_type(named, facts));
  if (!outputs.empty() && outputs.front().id != type.id) {
    return bad_definition("function result type must be " + std::string(type_name(outputs.front().id)) +
                          " because of OUT parameters");
  }
  signature.result = Type{type.id};
  return {};
}

}  // namespace

Result<RoutineSignature> bind_signature(const Json& create, const SessionFacts* facts) {
  RoutineSignature signature;
  signature.is_function = !flag(create, "is_procedure");
  NAMDB_SQL_CHECK(
      only(create, signature.is_function ? "CREATE FUNCTION" : "CREATE PROCEDURE",
           {"is_procedure", "replace", "funcname", "parameters", "returnType", "options", "sql_body"}));
  const std::vector<std::string_view> parts = names(list(create, "funcname"));
  if (parts.empty() || parts.size() > 2) return unsupported("a name with a database");
  if (parts.size() == 2) NAMDB_SQL_CHECK(check_schema(parts[0]));
  signature.name = parts.back();
  // The catalog keeps views and types under such names.
  if (signature.name.starts_with(storage::kViewMark) || signature.name.starts_with(kTypeMark))
    return bad_definition("a function's name cannot begin with this character");
  NAMDB_SQL_CHECK(bind_routine_parameters(create, facts, signature));
  if (signature.is_function) NAMDB_SQL_CHECK(bind_result(create, facts, signature));
  NAMDB_SQL_CHECK(bind_routine_options(create, signature));
  return signature;
}

}  // namespace namdb::sql
