// Functions that give several rows, in FROM and in the select list.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compute/sql/bind/bind_routine.h"
#include "compute/sql/bind/bind_set_function.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

using Kind = SetFunction::Kind;

// psql calls it. No table is a partition: it gives no rows.
constexpr std::string_view kPartitionAncestors = "pg_partition_ancestors";
// Options as PostgreSQL keeps them, "name=value", in two columns.
constexpr std::string_view kOptions = "pg_options_to_table";
struct JsonFunction {
  std::string_view name;
  Kind kind;
  TypeId type;
  bool as_text = false;
};

// Those of objects give their keys beside the values, except the last two.
constexpr std::array kJsonFunctions = {
    JsonFunction{"json_array_elements", Kind::json_elements, TypeId::json},
    JsonFunction{"jsonb_array_elements", Kind::json_elements, TypeId::jsonb},
    JsonFunction{"json_array_elements_text", Kind::json_elements, TypeId::json, true},
    JsonFunction{"jsonb_array_elements_text", Kind::json_elements, TypeId::jsonb, true},
    JsonFunction{"json_each", Kind::json_values, TypeId::json},
    JsonFunction{"jsonb_each", Kind::json_values, TypeId::jsonb},
    JsonFunction{"json_each_text", Kind::json_values, TypeId::json, true},
    JsonFunction{"jsonb_each_text", Kind::json_values, TypeId::jsonb, true},
    JsonFunction{"json_object_keys", Kind::json_keys, TypeId::json},
    JsonFunction{"jsonb_object_keys", Kind::json_keys, TypeId::jsonb},
};

const JsonFunction* find_json_function(std::string_view name) {
  const auto found = std::ranges::find(kJsonFunctions, name, &JsonFunction::name);
  return found == kJsonFunctions.end() ? nullptr : &*found;
}

std::optional<Kind> kind_of(std::string_view name) {
  if (const JsonFunction* json = find_json_function(name)) return json->kind;
  if (name == "generate_series") return Kind::series;
  if (name == "generate_subscripts") return Kind::subscripts;
  if (name == "unnest" || name == kPartitionAncestors || name == kOptions) return Kind::unnest;
  return std::nullopt;
}

// Dates become timestamps with a time zone, as PostgreSQL prefers them.
Status bind_time_series(ExpressionBinder& expressions, std::vector<ExprPtr>& args, Type& type) {
  if (args.size() != 3) return no_such_function("generate_series", args);
  const auto is_timestamp = [](const ExprPtr& argument) {
    return argument->type.id == TypeId::timestamp || argument->type.id == TypeId::unknown;
  };
  type = {is_timestamp(args[0]) && is_timestamp(args[1]) ? TypeId::timestamp : TypeId::timestamptz};
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Type wanted = i == 2 ? Type{TypeId::interval} : type;
    if (!can_cast(args[i]->type.id, wanted.id, Coercion::implicit))
      return no_such_function("generate_series", args);
    NAMDB_SQL_CHECK(expressions.coerce(args[i], wanted, Coercion::implicit));
  }
  return {};
}

Status bind_series(ExpressionBinder& expressions, std::vector<ExprPtr>& args, Type& type) {
  if (args.size() != 2 && args.size() != 3) return no_such_function("generate_series", args);
  const auto is_time = [](const ExprPtr& argument) { return argument->type.type_class() == TypeClass::time; };
  if (std::ranges::any_of(args, is_time)) return bind_time_series(expressions, args, type);
  type = {TypeId::int4};
  for (const ExprPtr& argument : args) {
    if (argument->type.id == TypeId::numeric)
      return unsupported("generate_series of " + std::string(type_name(argument->type.id)));
    if (argument->type.id != TypeId::unknown && !argument->type.is_integer())
      return no_such_function("generate_series", args);
    if (argument->type.id == TypeId::int8) type = {TypeId::int8};
  }
  for (ExprPtr& argument : args) NAMDB_SQL_CHECK(expressions.coerce(argument, type, Coercion::implicit));
  return {};
}

// unnest() of several arrays is one call for each.
Status bind_unnest(std::vector<ExprPtr> args, SetFunction& function) {
  for (const ExprPtr& argument : args) {
    if (!argument->type.is_array()) return no_such_function("unnest", args);
  }
  for (ExprPtr& argument : args) {
    function.columns.push_back({"unnest", {element_type(argument->type.id)}});
    SetFunction::Call& call = function.calls.emplace_back();
    call.kind = Kind::unnest;
    call.args.push_back(std::move(argument));
  }
  return {};
}

// Of a function that is written in SQL.
Status bind_routine_rows(ExpressionBinder& expressions, const Json& call,
                         const std::shared_ptr<const RoutineSignature>& routine, SetFunction& function) {
  NAMDB_SQL_CHECK(only(call, "a function call", {"funcname", "args", "funcformat"}));
  NAMDB_SQL_ASSIGN(ExprPtr value, expressions.bind_routine(call, routine));
  SetFunction::Call& made = function.calls.emplace_back();
  made.kind = value->routine->gives_rows ? Kind::routine : Kind::scalar;
  made.columns = routine->result_columns;
  made.args.push_back(std::move(value));
  for (ResultColumn& column : result_columns(*routine)) function.columns.push_back(std::move(column));
  return {};
}

// The keys and the values of an object are one call each.
Status bind_json_call(ExpressionBinder& expressions, const JsonFunction& json, std::vector<ExprPtr> args,
                      SetFunction& function) {
  if (args.size() != 1 || !can_cast(args[0]->type.id, json.type, Coercion::implicit))
    return no_such_function(json.name, args);
  // A text becomes no JSON by itself.
  if (args[0]->type.id != json.type && args[0]->type.id != TypeId::unknown)
    return no_such_function(json.name, args);
  NAMDB_SQL_CHECK(expressions.coerce(args[0], {json.type}, Coercion::implicit));
  const auto add = [&](Kind kind, std::string_view column, ExprPtr argument) {
    const bool as_text = json.as_text || kind == Kind::json_keys;
    function.columns.push_back({std::string(column), {as_text ? TypeId::text : json.type}});
    SetFunction::Call& call = function.calls.emplace_back();
    call.kind = kind;
    call.as_text = as_text;
    call.name = json.name;
    call.args.push_back(std::move(argument));
  };
  if (json.kind == Kind::json_values) add(Kind::json_keys, "key", clone(*args[0]));
  add(json.kind, json.kind == Kind::json_keys ? json.name : "value", std::move(args[0]));
  return {};
}

}  // namespace

bool is_set_function(std::string_view name) {
  return kind_of(name).has_value();
}

Status bind_set_call(ExpressionBinder& expressions, const Json& json, SetFunction& function) {
  const Node e = node(json);
  const std::string_view name =
      e.kind == "FuncCall" ? name_in_catalog(list(*e.body, "funcname")) : std::string_view();
  const auto routine = e.kind == "FuncCall" ? expressions.routine_called(*e.body) : nullptr;
  if (routine != nullptr) return bind_routine_rows(expressions, *e.body, routine, function);
  const std::optional<Kind> kind = kind_of(name);
  if (!kind) {
    // It gives one row.
    NAMDB_SQL_ASSIGN(ExprPtr value, expressions.bind(json));
    NAMDB_SQL_CHECK(expressions.decide_unknown(value));
    function.columns.push_back({column_name_of(json), value->type});
    SetFunction::Call& call = function.calls.emplace_back();
    call.args.push_back(std::move(value));
    return {};
  }
  NAMDB_SQL_CHECK(only(*e.body, "a function call", {"funcname", "args", "funcformat"}));
  std::vector<ExprPtr> args;
  for (const Json& argument : list(*e.body, "args")) {
    NAMDB_SQL_ASSIGN(ExprPtr value, expressions.bind(argument));
    args.push_back(std::move(value));
  }
  if (args.empty()) return no_such_function(name, args);
  if (name == kPartitionAncestors) {
    function.columns.push_back({"relid", {TypeId::regclass}});
    SetFunction::Call& call = function.calls.emplace_back();
    call.kind = Kind::unnest;
    call.args.push_back(make_constant({TypeId::int4_array}, Datum()));
    return {};
  }
  if (name == kOptions) {
    if (args.size() != 1 || !can_cast(args[0]->type.id, TypeId::text_array, Coercion::implicit))
      return no_such_function(name, args);
    NAMDB_SQL_CHECK(expressions.coerce(args[0], {TypeId::text_array}, Coercion::implicit));
    for (const std::string_view part : {SetFunction::kOptionName, SetFunction::kOptionValue}) {
      function.columns.push_back({std::string(part), {TypeId::text}});
      SetFunction::Call& call = function.calls.emplace_back();
      call.kind = Kind::unnest;
      call.name = part;
      call.args.push_back(clone(*args[0]));
    }
    return {};
  }
  if (const JsonFunction* of_json = find_json_function(name))
    return bind_json_call(expressions, *of_json, std::move(args), function);
  if (*kind == Kind::unnest) return bind_unnest(std::move(args), function);
  Type type{TypeId::int4};
  if (*kind == Kind::series) {
    NAMDB_SQL_CHECK(bind_series(expressions, args, type));
  } else {
    if (args.size() != 2 || !args[0]->type.is_array()) return no_such_function(name, args);
    NAMDB_SQL_CHECK(expressions.coerce(args[1], {TypeId::int4}, Coercion::implicit));
  }
  function.columns.push_back({std::string(name), type});
  SetFunction::Call& call = function.calls.emplace_back();
  call.kind = *kind;
  call.args = std::move(args);
  return {};
}

Result<SetFunction> bind_range_function(ExpressionBinder& expressions, const Json& body) {
  NAMDB_SQL_CHECK(
      only(body, "a function in FROM", {"lateral", "ordinality", "is_rowsfrom", "functions", "alias"}));
  SetFunction function;
  for (const Json& item : list(body, "functions")) {
    const Json& call = list(*node(item).body, "items")[0];
    NAMDB_SQL_CHECK(bind_set_call(expressions, call, function));
  }
  function.ordinality = flag(body, "ordinality");
  if (function.ordinality) function.columns.push_back({"ordinality", {TypeId::int8}});
  return function;
}

namespace {

// Whether the call gives several values.
bool gives_values(const ExpressionBinder& expressions, const Json& call) {
  const auto routine = expressions.routine_called(call);
  if (routine != nullptr) return routine->returns_set && routine->result_columns == 1;
  return is_set_function(name_in_catalog(list(call, "funcname")));
}

}  // namespace

// Not those of subqueries. Without recursion: a select list may be deep.
Status find_set_calls(const ExpressionBinder& expressions, const Json& json,
                      std::vector<const Json*>& calls) {
  struct Place {
    const Json* json;
    std::string_view construct;  // around it, in which there must be none; empty: none
  };
  std::vector<Place> left = {{&json, {}}};
  while (!left.empty()) {
    Place place = left.back();
    left.pop_back();
    if (!place.json->is_structured()) continue;
    if (place.json->is_object() && place.json->size() == 1) {
      const Node part = node(*place.json);
      if (part.kind == "SubLink") continue;
      if (part.kind == "FuncCall" && gives_values(expressions, *part.body)) {
        if (!place.construct.empty()) {
          return Status(ErrorCode::feature_not_supported,
                        "set-returning functions are not allowed in " + std::string(place.construct),
                        "You might be able to move the set-returning function into a LATERAL FROM item.");
        }
        calls.push_back(place.json);
        continue;
      }
      if (part.kind == "CaseExpr") place.construct = "CASE";
      if (part.kind == "CoalesceExpr") place.construct = "COALESCE";
    }
    for (auto child = place.json->rbegin(); child != place.json->rend(); ++child)
      left.push_back({&*child, place.construct});
  }
  return {};
}

}  // namespace namdb::sql
