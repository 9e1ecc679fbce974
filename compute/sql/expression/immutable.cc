#include "compute/sql/expression/immutable.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compute/sql/expression/function.h"
#include "compute/sql/expression/subquery.h"

namespace namdb::sql {
namespace {

// Stable in PostgreSQL, beside those of sessions and the catalog.
constexpr std::array<std::string_view, 24> kStable = {"array_to_json",
                                                      "array_to_string",
                                                      "concat",
                                                      "concat_ws",
                                                      "current_database",
                                                      "current_date",
                                                      "current_schema",
                                                      "current_time",
                                                      "current_timestamp",
                                                      "current_user",
                                                      "format",
                                                      "json_build_array",
                                                      "jsonb_build_array",
                                                      "json_build_object",
                                                      "jsonb_build_object",
                                                      "localtime",
                                                      "localtimestamp",
                                                      "now",
                                                      "session_user",
                                                      "statement_timestamp",
                                                      "to_char",
                                                      "to_json",
                                                      "to_jsonb",
                                                      "version"};

bool has_zone(TypeId type) {
  return type == TypeId::timestamptz || type == TypeId::timestamptz_array;
}

bool tells_time(TypeId type) {
  return type == TypeId::timestamp || type == TypeId::timestamptz || type == TypeId::date ||
         Type{type}.type_class() == TypeClass::time_of_day || type == TypeId::interval;
}

bool is_immutable_call(const Expr& call) {
  const Function& function = *call.function;
  const std::string_view name = function.name;
  if (function.volatility == Volatility::is_volatile || function.waiting != Waiting::no ||
      function.reads_catalog || std::ranges::find(kStable, name) != kStable.end() ||
      name.starts_with("pg_") || name.starts_with("has_") || name.starts_with("namdb_"))
    return false;
  if ((name == "to_timestamp" && call.args.size() == 2) || (name == "age" && call.args.size() == 1))
    return false;
  // The session's time zone counts, unless the call names one.
  if (name == "timezone" && call.args.size() == 2) return call.type.id != TypeId::timetz;
  const bool of_zone =
      std::ranges::any_of(call.args, [](const ExprPtr& argument) { return has_zone(argument->type.id); });
  return !has_zone(call.type.id) && !of_zone;
}

bool is_immutable_cast(TypeId from, TypeId to) {
  if (from == to || from == TypeId::unknown) return true;  // a literal
  if (Type{from}.is_array()) from = element_type(from);
  if (Type{to}.is_array()) to = element_type(to);
  if (has_zone(from) || has_zone(to) || (from == TypeId::time && to == TypeId::timetz)) return false;
  const bool from_text = Type{from}.is_string();
  const bool to_text = Type{to}.is_string();
  return !((from_text && tells_time(to)) ||
           (to_text && tells_time(from) && Type{from}.type_class() != TypeClass::time_of_day));
}

bool is_immutable_node(const Expr& expr) {
  if (is_subquery(expr)) return false;
  switch (expr.kind) {
    case ExprKind::parameter:
    case ExprKind::aggregate:
    case ExprKind::outer:
    case ExprKind::routine:
      return false;
    case ExprKind::function:
      return is_immutable_call(expr);
    case ExprKind::cast:
      return is_immutable_cast(expr.args[0]->type.id, expr.type.id);
    case ExprKind::arithmetic:
      // A day of a time zone has not always 24 hours.
      return std::ranges::none_of(expr.args, [](const ExprPtr& side) { return has_zone(side->type.id); }) ||
             std::ranges::all_of(expr.args, [](const ExprPtr& side) { return has_zone(side->type.id); });
    case ExprKind::compare:
      // A date is converted by the session's time zone.
      return has_zone(expr.args[0]->type.id) == has_zone(expr.args[1]->type.id);
    default:
      return true;
  }
}

}  // namespace

bool is_immutable(const Expr& expr) {
  return is_immutable_node(expr) &&
         std::ranges::all_of(expr.args, [](const ExprPtr& argument) { return is_immutable(*argument); });
}

}  // namespace namdb::sql
