// Calls of functions and aggregates in expressions.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_enumeration.h"
#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/bind_set_function.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/expression/functions.h"
#include "compute/sql/plan/routine.h"
#include "compute/sql/value/made_type.h"
#include "compute/sql/value/overload.h"
#include "compute/sql/value/time_precision.h"

namespace namdb::sql {
namespace {

// As in PostgreSQL.
constexpr std::size_t kMaxArguments = 100;

// Functions whose parameter is anyarray or anyelement: a literal without a type does not tell which.
constexpr std::array<std::string_view, 10> kOfAnyType = {
    "array_dims",  "array_ndims",     "array_length", "array_lower", "array_upper",
    "cardinality", "array_to_string", "trim_array",   "to_json",     "to_jsonb"};

ExprPtr letter_of(ExprPtr boolean) {
  const auto letter = [](std::string_view text) {
    return make_constant({TypeId::text}, Datum::of_text(text));
  };
  ExprPtr opposite = make_expr(ExprKind::logical_not, {TypeId::boolean});
  opposite->args.push_back(clone(*boolean));
  ExprPtr choice = make_expr(ExprKind::case_when, {TypeId::text});
  choice->args.push_back(std::move(boolean));
  choice->args.push_back(letter("t"));
  choice->args.push_back(std::move(opposite));
  choice->args.push_back(letter("f"));
  return choice;
}

// A constant of the type's name.
ExprPtr type_of(const Expr& value) {
  Datum type = Datum::of_integer(type_oid(value.type.id));
  type.text = type_name(value.type.id);
  return make_constant({TypeId::regtype}, type);
}

// The same value with the type that its positions have.
ExprPtr as_positions(ExprPtr value, TypeId positions) {
  ExprPtr same_value = make_expr(ExprKind::coalesce, {positions});
  same_value->args.push_back(std::move(value));
  return same_value;
}

// The enumeration whose arrays are among the arguments of such a function; unknown: there are none.
TypeId enumeration_in(const std::vector<ExprPtr>& args) {
  for (const ExprPtr& argument : args) {
    const TypeId element = element_type(argument->type.id);
    if (Type{element}.is_enumeration()) return element;
  }
  return TypeId::unknown;
}

// A function of arrays, where they are of an enumeration: it is called with the positions.
Result<ExprPtr> bind_of_enumeration(ExpressionBinder& expressions, std::string_view name,
                                    std::vector<ExprPtr> args, TypeId enumeration) {
  const TypeId array = *array_type(enumeration);
  const bool of_element = name == "array_append" || name == "array_prepend" || name == "array_remove" ||
                          name == "array_replace" || name.starts_with("array_position");
  // Its positions are integers only here: it has no overload for values of another type.
  const std::size_t value_at = name == "array_prepend" ? 0 : 1;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const TypeId type = args[i]->type.id;
    const bool is_own = type == enumeration || type == array;
    const bool is_value = of_element && (i == value_at || (name == "array_replace" && i == 2));
    if (is_value && type != enumeration && type != TypeId::unknown) return no_such_function(name, args);
    if (!is_own && (is_made(type) || type == TypeId::int8_array)) return no_such_function(name, args);
  }
  for (ExprPtr& argument : args) {
    if (name == "array_to_string" && argument->type.id == array)
      NAMDB_SQL_CHECK(expressions.coerce(argument, {TypeId::text_array}, Coercion::explicit_cast));
    if (argument->type.id == TypeId::unknown && (of_element || name == "array_cat"))
      NAMDB_SQL_CHECK(expressions.coerce(argument, {of_element ? enumeration : array}, Coercion::implicit));
    if (argument->type.id == array)
      argument = as_positions(std::move(argument), TypeId::int8_array);
    else if (argument->type.id == enumeration)
      argument = as_positions(std::move(argument), TypeId::int8);
  }
  NAMDB_SQL_ASSIGN(ExprPtr call, expressions.bind_function(name, std::move(args)));
  const bool gives_array = call->type.id == TypeId::int8_array;
  return gives_array ? as_positions(std::move(call), array) : std::move(call);
}

// PostgreSQL's messages name the schema where the call does, and that of calls in a syntax of their own.
Status in_catalog(const Status& status, std::string_view name, const Json& called) {
  const std::string begin = "function " + std::string(name) + "(";
  if (names(called).size() < 2 || !status.message().starts_with(begin)) return status;
  return Status(status.code(), "function pg_catalog." + status.message().substr(9), status.hint());
}

}  // namespace

std::string_view name_in_catalog(const Json& name) {
  const std::vector<std::string_view> parts = names(name);
  const bool in_catalog = parts.size() == 1 || (parts.size() == 2 && parts[0] == "pg_catalog");
  return in_catalog ? parts.back() : std::string_view();
}

Status no_such_function(std::string_view name, std::span<const ExprPtr> args) {
  std::string signature;
  for (const ExprPtr& argument : args)
    signature += (signature.empty() ? "" : ", ") + std::string(type_name(argument->type.id));
  return Status(ErrorCode::undefined_function,
                "function " + std::string(name) + "(" + signature + ") does not exist",
                "No function matches the given name and argument types. You might need to add explicit type "
                "casts.");
}

Status undecided_type() {
  return Status(ErrorCode::datatype_mismatch,
                "could not determine polymorphic type because input has type unknown");
}

Status check_any(std::span<const ExprPtr> args) {
  for (const ExprPtr& argument : args) {
    if (argument->kind != ExprKind::parameter || argument->type.id != TypeId::unknown) continue;
    return Status(ErrorCode::indeterminate_datatype,
                  "could not determine data type of parameter $" + std::to_string(argument->index + 1));
  }
  return {};
}

Result<ExprPtr> ExpressionBinder::bind_value_function(const Json& body) {
  std::string_view op = text(body, "op");
  const bool has_digits = op.ends_with("_N");
  if (has_digits) op.remove_suffix(2);
  struct Row {
    std::string_view op;
    std::string_view function;
  };
  constexpr std::array kRows = {
      Row{"SVFOP_CURRENT_TIMESTAMP", "now"},         Row{"SVFOP_LOCALTIMESTAMP", "now"},
      Row{"SVFOP_CURRENT_DATE", "current_date"},     Row{"SVFOP_LOCALTIME", "localtime"},
      Row{"SVFOP_CURRENT_USER", "current_user"},     Row{"SVFOP_USER", "current_user"},
      Row{"SVFOP_SESSION_USER", "session_user"},     Row{"SVFOP_CURRENT_ROLE", "current_user"},
      Row{"SVFOP_CURRENT_SCHEMA", "current_schema"}, Row{"SVFOP_CURRENT_CATALOG", "current_database"},
      Row{"SVFOP_CURRENT_TIME", "current_time"}};
  for (const Row& row : kRows) {
    if (row.op != op) continue;
    NAMDB_SQL_ASSIGN(ExprPtr expr, bind_function(row.function, {}));
    if (op == "SVFOP_LOCALTIMESTAMP")
      NAMDB_SQL_CHECK(coerce(expr, {TypeId::timestamp}, Coercion::explicit_cast));
    if (has_digits) {
      // PostgreSQL warns of more, and takes its maximum.
      const std::int64_t digits = std::min<std::int64_t>(integer(body, "typmod"), kMostTimeDigits);
      NAMDB_SQL_CHECK(
          coerce(expr, {expr->type.id, static_cast<std::int32_t>(digits)}, Coercion::explicit_cast));
    }
    return expr;
  }
  return unsupported(op.starts_with("SVFOP_") ? op.substr(6) : op);
}

bool is_builtin_function(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOthers = {"concat", "concat_ws", "format", "json_build_object",
                                                       "pg_typeof"};
  return is_aggregate(name) || is_window_function(name) || is_set_function(name) ||
         !functions_named(name).empty() || is_enumeration_function(name) ||
         std::ranges::find(kOthers, name) != kOthers.end();
}

Result<ExprPtr> ExpressionBinder::no_function_of_schema(const Json& body) {
  const std::vector<std::string_view> parts = names(list(body, "funcname"));
  if (parts.size() != 2 || parts[0] != "public") return unsupported("a function of another schema");
  std::vector<ExprPtr> args;
  for (const Json& argument : list(body, "args")) {
    NAMDB_SQL_ASSIGN(ExprPtr value, bind(argument));
    args.push_back(std::move(value));
  }
  return no_such_function("public." + std::string(parts[1]), args);
}

// One that gives several rows is a table of FROM, of which the call is a column.
Result<ExprPtr> ExpressionBinder::bind_routine_value(
    const Json& body, const std::shared_ptr<const RoutineSignature>& signature) {
  if (const auto column = set_calls_.find(&body); column != set_calls_.end())
    return scope_column(scope_, column->second);
  NAMDB_SQL_ASSIGN(ExprPtr call, bind_routine(body, signature));
  if (find(body, "agg_filter") != nullptr) {
    return Status(ErrorCode::wrong_object_type,
                  "FILTER specified, but " + signature->name + " is not an aggregate function");
  }
  if (flag(body, "agg_star") || flag(body, "agg_distinct") || !list(body, "agg_order").empty()) {
    return Status(ErrorCode::wrong_object_type, (flag(body, "agg_star")       ? signature->name + "(*)"
                                                 : flag(body, "agg_distinct") ? "DISTINCT"
                                                                              : "ORDER BY") +
                                                    std::string(" specified, but ") + signature->name +
                                                    " is not an aggregate function");
  }
  if (call->routine->gives_rows)
    return unsupported("function " + signature->name + ", which gives " +
                       (signature->returns_set ? "several rows" : "several columns") + ", in this place");
  return call;
}

Result<ExprPtr> ExpressionBinder::bind_call(const Json& body) {
  if (find(body, "over") != nullptr) return bind_window(body);
  NAMDB_SQL_CHECK(
      only(body, "a function call",
           {"funcname", "args", "agg_star", "funcformat", "agg_distinct", "agg_order", "agg_filter"}));
  if (const auto routine = routine_called(body)) return bind_routine_value(body, routine);
  const std::string_view name = name_in_catalog(list(body, "funcname"));
  if (name.empty()) return no_function_of_schema(body);
  if (is_aggregate(name)) return bind_aggregate(name, body);
  if (is_window_function(name)) {
    return Status(ErrorCode::wrong_object_type,
                  "window function " + std::string(name) + " requires an OVER clause");
  }
  if (const auto column = set_calls_.find(&body); column != set_calls_.end())
    return scope_column(scope_, column->second);
  if (is_set_function(name)) return unsupported("function " + std::string(name) + " in this place");
  if (flag(body, "agg_distinct") || !list(body, "agg_order").empty()) {
    return Status(ErrorCode::wrong_object_type,
                  std::string(name) + " is not an aggregate function that is supported");
  }
  if (find(body, "agg_filter") != nullptr) {
    return Status(ErrorCode::wrong_object_type, "FILTER specified, but " + std::string(name) +
                                                    " is not an aggregate function that is supported");
  }
  if (name == "make_interval") return bind_make_interval(list(body, "args"));
  std::vector<ExprPtr> args;
  for (const Json& argument : list(body, "args")) {
    NAMDB_SQL_ASSIGN(ExprPtr value, bind(argument));
    args.push_back(std::move(value));
  }
  if (args.size() > kMaxArguments) {
    return Status(ErrorCode::limit_exceeded,
                  "cannot pass more than " + std::to_string(kMaxArguments) + " arguments to a function");
  }
  const bool of_any = name == "concat" || name == "concat_ws" || name == "format" ||
                      name.find("_build_") != std::string_view::npos;
  if (name == "concat_ws" && !args.empty())
    NAMDB_SQL_CHECK(coerce(args[0], {TypeId::text}, Coercion::implicit));
  if (of_any) NAMDB_SQL_CHECK(check_any(args));
  if (name == "json_build_object" || name == "jsonb_build_object")
    return bind_json_object(name, std::move(args));
  if (name == "json_build_array") return bind_json_array(std::move(args), TypeId::json);
  if (name == "jsonb_build_array") return bind_json_array(std::move(args), TypeId::jsonb);
  const bool of_json =
      !args.empty() && (args[0]->type.id == TypeId::json || args[0]->type.id == TypeId::jsonb ||
                        args[0]->type.id == TypeId::unknown);
  if (of_json && name.starts_with("json") && name.find("_extract_path") != std::string_view::npos)
    NAMDB_SQL_CHECK(gather_path(args));
  if (is_enumeration_function(name)) return bind_enumeration_function(name, std::move(args));
  if (name == "pg_typeof" && args.size() == 1) return type_of(*args[0]);
  if (name == "concat") return bind_concat(std::move(args));
  if (name == "concat_ws" && args.size() > 1) return bind_joined_texts(std::move(args));
  if (name == "format" && !args.empty()) return bind_format(std::move(args));
  const bool sql_syntax = text(body, "funcformat") == "COERCE_SQL_SYNTAX";
  if (sql_syntax && functions_named(name).empty()) return unsupported("function " + std::string(name));
  Result<ExprPtr> bound = bind_function(name, std::move(args));
  if (!bound.ok()) return in_catalog(bound.status(), name, list(body, "funcname"));
  ExprPtr call = std::move(bound).value();
  if (flag(body, "agg_star")) {
    return Status(ErrorCode::wrong_object_type, std::string(name) + "(*) specified, but " +
                                                    std::string(name) + " is not an aggregate function");
  }
  if (call->function != nullptr && call->function->name == "mod") {
    call->kind = ExprKind::arithmetic;
    call->op = '%';
    call->function = nullptr;
  }
  return call;
}

Result<ExprPtr> ExpressionBinder::bind_make_interval(const Json& args) {
  constexpr std::array<std::string_view, 7> kNames = {"years", "months", "weeks", "days",
                                                      "hours", "mins",   "secs"};
  std::vector<ExprPtr> all(kNames.size());
  std::string signature;
  bool known = args.size() <= kNames.size();
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Node argument = node(args[i]);
    const bool named = argument.kind == "NamedArgExpr";
    NAMDB_SQL_ASSIGN(ExprPtr value, bind(named ? *find(*argument.body, "arg") : args[i]));
    std::size_t position = i;
    if (named) {
      const auto found = std::ranges::find(kNames, text(*argument.body, "name"));
      position = static_cast<std::size_t>(found - kNames.begin());
    }
    known = known && position < kNames.size() && all[position] == nullptr;
    const TypeId wanted = position == kNames.size() - 1 ? TypeId::float8 : TypeId::int4;
    known = known && can_cast(value->type.id, wanted, Coercion::implicit);
    signature += (i == 0 ? "" : ", ") + (named ? std::string(text(*argument.body, "name")) + " => " : "") +
                 std::string(type_name(value->type.id));
    if (known) all[position] = std::move(value);
  }
  if (!known) {
    return Status(
        ErrorCode::undefined_function, "function make_interval(" + signature + ") does not exist",
        "No function matches the given name and argument types. You might need to add explicit type "
        "casts.");
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != nullptr) continue;
    all[i] = i == kNames.size() - 1 ? make_constant({TypeId::float8}, Datum::of_real(0))
                                    : make_constant({TypeId::int4}, Datum::of_integer(0));
  }
  return bind_function("make_interval", std::move(all));
}

// Text of which a NULL is `replacement`.
Result<ExprPtr> ExpressionBinder::text_or(ExprPtr value, std::string_view replacement) {
  NAMDB_SQL_CHECK(coerce(value, {TypeId::text}, Coercion::explicit_cast));
  ExprPtr either = make_expr(ExprKind::coalesce, {TypeId::text});
  either->args.push_back(std::move(value));
  either->args.push_back(make_constant({TypeId::text}, Datum::of_text(replacement)));
  return either;
}

ExprPtr ExpressionBinder::joined(ExprPtr left, ExprPtr right) {
  ExprPtr both = make_expr(ExprKind::concat, {TypeId::text});
  both->args.push_back(std::move(left));
  both->args.push_back(std::move(right));
  return both;
}

// The text in which a client sees the value.
Status ExpressionBinder::bind_shown(ExprPtr& value) {
  NAMDB_SQL_CHECK(decide_unknown(value));
  // The output form of a boolean, which a cast to text spells out.
  if (value->type.id == TypeId::boolean) value = letter_of(std::move(value));
  return coerce(value, {TypeId::text}, Coercion::explicit_cast);
}

Result<ExprPtr> ExpressionBinder::bind_concat(std::vector<ExprPtr> args) {
  ExprPtr whole = make_constant({TypeId::text}, Datum::of_text(""));
  for (ExprPtr& arg : args) {
    NAMDB_SQL_CHECK(bind_shown(arg));
    NAMDB_SQL_ASSIGN(ExprPtr part, text_or(std::move(arg), ""));
    whole = joined(std::move(whole), std::move(part));
  }
  return whole;
}

Status ExpressionBinder::gather_path(std::vector<ExprPtr>& args) {
  if (args.size() < 2) return {};
  ExprPtr path = make_expr(ExprKind::array, {TypeId::text_array});
  for (std::size_t i = 1; i < args.size(); ++i) {
    if (i == 1 && args.size() == 2 && args[1]->type.is_array()) return {};  // VARIADIC
    if (!can_cast(args[i]->type.id, TypeId::text, Coercion::implicit)) return {};
    NAMDB_SQL_CHECK(coerce(args[i], {TypeId::text}, Coercion::implicit));
    path->args.push_back(std::move(args[i]));
  }
  args.resize(1);
  args.push_back(std::move(path));
  return {};
}

Result<ExprPtr> ExpressionBinder::json_of(ExprPtr value, std::string_view function) {
  NAMDB_SQL_CHECK(decide_unknown(value));
  std::vector<ExprPtr> argument;
  argument.push_back(std::move(value));
  NAMDB_SQL_ASSIGN(ExprPtr json, bind_function(function, std::move(argument)));
  return text_or(std::move(json), "null");
}

// {"key" : value, ...}: the text of its parts, end to end.
Result<ExprPtr> ExpressionBinder::bind_json_object(std::string_view name, std::vector<ExprPtr> args) {
  if (args.size() % 2 != 0) {
    return Status(
        ErrorCode::invalid_parameter_value, "argument list must have even number of elements",
        "The arguments of " + std::string(name) + "() must consist of alternating keys and values.");
  }
  const bool is_jsonb = name.starts_with("jsonb");
  const auto literal = [](std::string_view text) {
    return make_constant({TypeId::text}, Datum::of_text(text));
  };
  ExprPtr whole = literal("{");
  for (std::size_t i = 0; i < args.size(); ++i) {
    NAMDB_SQL_CHECK(decide_unknown(args[i]));
    const bool is_key = i % 2 == 0;
    if (is_key && args[i]->is_null_constant()) {
      const std::string argument = "argument " + std::to_string(i + 1);
      return is_jsonb ? Status(ErrorCode::invalid_parameter_value, argument + ": key must not be null")
                      : Status(ErrorCode::invalid_parameter_value, argument + " cannot be null",
                               "Object keys should be text.");
    }
    if (is_key &&
        (args[i]->type.is_array() || args[i]->type.id == TypeId::json || args[i]->type.id == TypeId::jsonb)) {
      return Status(ErrorCode::invalid_parameter_value,
                    "key value must be scalar, not array, composite, or json");
    }
    if (is_key) NAMDB_SQL_CHECK(coerce(args[i], {TypeId::text}, Coercion::explicit_cast));
    NAMDB_SQL_ASSIGN(ExprPtr part, json_of(std::move(args[i])));
    if (i != 0) whole = joined(std::move(whole), literal(is_key ? ", " : " : "));
    whole = joined(std::move(whole), std::move(part));
  }
  whole = joined(std::move(whole), literal("}"));
  NAMDB_SQL_CHECK(coerce(whole, {is_jsonb ? TypeId::jsonb : TypeId::json}, Coercion::explicit_cast));
  return whole;
}

Result<ExprPtr> ExpressionBinder::bind_json_array(std::vector<ExprPtr> args, TypeId type) {
  const auto literal = [](std::string_view text) {
    return make_constant({TypeId::text}, Datum::of_text(text));
  };
  ExprPtr whole = literal("[");
  for (std::size_t i = 0; i < args.size(); ++i) {
    NAMDB_SQL_ASSIGN(ExprPtr part, json_of(std::move(args[i])));
    if (i != 0) whole = joined(std::move(whole), literal(", "));
    whole = joined(std::move(whole), std::move(part));
  }
  whole = joined(std::move(whole), literal("]"));
  NAMDB_SQL_CHECK(coerce(whole, {type}, Coercion::explicit_cast));
  return whole;
}

Result<ExprPtr> ExpressionBinder::bind_function(std::string_view name, std::vector<ExprPtr> args) {
  // The JSON of an enumeration is that of its labels.
  if ((name == "to_json" || name == "to_jsonb") && args.size() == 1 && is_made(args[0]->type.id)) {
    const bool is_array = args[0]->type.is_array();
    NAMDB_SQL_CHECK(coerce(args[0], {is_array ? TypeId::text_array : TypeId::text}, Coercion::explicit_cast));
  }
  if (const TypeId enumeration = enumeration_in(args);
      enumeration != TypeId::unknown && !functions_named(name).empty())
    return bind_of_enumeration(*this, name, std::move(args), enumeration);
  std::vector<const Function*> overloads = functions_named(name);
  std::erase_if(overloads, [&args](const Function* f) { return f->parameters.size() != args.size(); });
  std::vector<std::span<const TypeId>> candidates;
  for (const Function* function : overloads) candidates.emplace_back(function->parameters);
  std::vector<TypeId> types;
  for (const ExprPtr& argument : args) types.push_back(argument->type.id);
  const bool first_unknown = !args.empty() && types.front() == TypeId::unknown && !candidates.empty();
  if (first_unknown && std::ranges::find(kOfAnyType, name) != kOfAnyType.end()) return undecided_type();
  // Of two literals without a type it makes arrays of texts.
  if (first_unknown && name == "array_cat" && types.back() == TypeId::unknown)
    types.assign(2, TypeId::text_array);
  OverloadChoice choice = choose_overload(candidates, types);
  // PostgreSQL has a trunc() of network addresses, too, and a to_char() of numbers.
  const bool has_others = (name == "trunc" && args.size() == 1) || (name == "to_char" && args.size() == 2);
  if (first_unknown && has_others) choice.outcome = OverloadChoice::Outcome::ambiguous;
  if (choice.outcome != OverloadChoice::Outcome::found) {
    std::string signature = std::string(name) + "(";
    for (std::size_t i = 0; i < args.size(); ++i)
      signature += (i == 0 ? "" : ", ") + std::string(type_name(types[i]));
    if (choice.outcome == OverloadChoice::Outcome::ambiguous) {
      return Status(ErrorCode::ambiguous_function, "function " + signature + ") is not unique",
                    "Could not choose a best candidate function. You might need to add explicit type casts.");
    }
    return no_such_function(name, args);
  }
  const Function* const best = overloads[choice.index];
  const bool of_transaction =
      best->waiting == Waiting::transaction_id || best->waiting == Waiting::transaction_lock;
  if (of_transaction && statement_ != nullptr) statement_->gives_id = true;
  if (!best->supported()) return unsupported("function " + std::string(name) + " in this form");
  return make_call(*best, std::move(args));
}

Result<ExprPtr> ExpressionBinder::make_call(const Function& function, std::vector<ExprPtr> args) {
  ExprPtr expr = make_expr(ExprKind::function, {function.result});
  expr->function = &function;
  for (std::size_t i = 0; i < args.size(); ++i) {
    NAMDB_SQL_CHECK(coerce(args[i], {function.parameters[i]}, Coercion::implicit));
    expr->args.push_back(std::move(args[i]));
  }
  return expr;
}

}  // namespace namdb::sql
