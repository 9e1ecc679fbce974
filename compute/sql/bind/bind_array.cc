// Arrays in expressions, and COLLATE.
#include <nlohmann/json.hpp>
#include <optional>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/expression/function_tables.h"

namespace namdb::sql {

Result<ExprPtr> ExpressionBinder::bind_array(const Json& body, Type wanted) {
  ExprPtr array = make_expr(ExprKind::array, wanted);
  std::vector<ExprPtr*> elements;
  for (const Json& item : list(body, "elements")) {
    if (node(item).kind == "A_ArrayExpr") return unsupported("an array of several dimensions");
    NAMDB_SQL_ASSIGN(ExprPtr element, bind(item));
    array->args.push_back(std::move(element));
  }
  if (wanted.is_array()) {
    for (ExprPtr& element : array->args)
      NAMDB_SQL_CHECK(coerce(element, {element_type(wanted.id), wanted.modifier}, Coercion::explicit_cast));
    return array;
  }
  if (array->args.empty()) {
    return Status(ErrorCode::indeterminate_datatype, "cannot determine type of empty array",
                  "Explicitly cast to the desired type, for example ARRAY[]::integer[].");
  }
  for (ExprPtr& element : array->args) elements.push_back(&element);
  Type type;
  NAMDB_SQL_CHECK(unify_all(elements, "ARRAY", type));
  NAMDB_SQL_ASSIGN(array->type, array_of(type.id));
  array->type.modifier = type.modifier;
  return array;
}

Result<ExprPtr> ExpressionBinder::bind_json_subscripts(ExprPtr value, const Json& steps) {
  ExprPtr path = make_expr(ExprKind::array, {TypeId::text_array});
  for (const Json& step : steps) {
    if (node(step).kind != "A_Indices") return unsupported("a field of a value");
    const Json& indices = *node(step).body;
    if (flag(indices, "is_slice")) {
      return Status(ErrorCode::datatype_mismatch, "jsonb subscript does not support slices");
    }
    NAMDB_SQL_ASSIGN(ExprPtr index, bind(*find(indices, "uidx")));
    if (!index->type.is_integer() && index->type.id != TypeId::unknown && !index->type.is_string()) {
      return Status(ErrorCode::datatype_mismatch,
                    "subscript type " + std::string(type_name(index->type.id)) + " is not supported",
                    "jsonb subscript must be coercible to either integer or text.");
    }
    if (index->type.is_integer()) NAMDB_SQL_CHECK(coerce(index, {TypeId::int4}, Coercion::assignment));
    NAMDB_SQL_CHECK(coerce(index, {TypeId::text}, Coercion::explicit_cast));
    path->args.push_back(std::move(index));
  }
  return bind_table_operator("#>", std::move(value), std::move(path));
}

// A name is an array of bytes, which begins at 0.
Result<ExprPtr> ExpressionBinder::bind_letter(ExprPtr name, const Json& subscript) {
  NAMDB_SQL_ASSIGN(ExprPtr index, bind(subscript));
  NAMDB_SQL_CHECK(coerce(index, {TypeId::int4}, Coercion::assignment));
  NAMDB_SQL_CHECK(coerce(name, {TypeId::text}, Coercion::implicit));
  const auto one = [] { return make_constant({TypeId::int4}, Datum::of_integer(1)); };
  std::vector<ExprPtr> args(3);
  args[0] = std::move(name);
  NAMDB_SQL_ASSIGN(args[1], bind_arithmetic('+', "+", std::move(index), one()));
  args[2] = one();
  return bind_function("substring", std::move(args));
}

Result<ExprPtr> ExpressionBinder::bind_subscript(const Json& body) {
  const Json& steps = list(body, "indirection");
  NAMDB_SQL_ASSIGN(ExprPtr array, bind(*find(body, "arg")));
  if (array->type.id == TypeId::jsonb) return bind_json_subscripts(std::move(array), steps);
  if (steps.size() != 1 || node(steps[0]).kind != "A_Indices") return unsupported("a field of a value");
  const Json& indices = *node(steps[0]).body;
  if (array->type.id == TypeId::name && !flag(indices, "is_slice"))
    return bind_letter(std::move(array), *find(indices, "uidx"));
  if (!array->type.is_array()) {
    return Status(ErrorCode::datatype_mismatch, "cannot subscript type " +
                                                    std::string(type_name(array->type.id)) +
                                                    " because it does not support subscripting");
  }
  if (flag(indices, "is_slice")) {
    // A bound that is missing is that of the array.
    const auto bound = [&](const char* name, std::int32_t missing) -> Result<ExprPtr> {
      if (find(indices, name) == nullptr) return make_constant({TypeId::int4}, Datum::of_integer(missing));
      NAMDB_SQL_ASSIGN(ExprPtr value, bind(*find(indices, name)));
      NAMDB_SQL_CHECK(coerce(value, {TypeId::int4}, Coercion::assignment));
      return value;
    };
    std::vector<ExprPtr> args(3);
    args[0] = std::move(array);
    NAMDB_SQL_ASSIGN(args[1], bound("lidx", INT32_MIN));
    NAMDB_SQL_ASSIGN(args[2], bound("uidx", INT32_MAX));
    return bind_function(kSliceFunction, std::move(args));
  }
  NAMDB_SQL_ASSIGN(ExprPtr index, bind(*find(indices, "uidx")));
  NAMDB_SQL_CHECK(coerce(index, {TypeId::int4}, Coercion::assignment));
  ExprPtr element = make_expr(ExprKind::subscript, {element_type(array->type.id)});
  element->args.push_back(std::move(array));
  element->args.push_back(std::move(index));
  return element;
}

// All strings compare byte by byte.
Result<ExprPtr> ExpressionBinder::bind_collate(const Json& body) {
  const std::vector<std::string_view> name = names(list(body, "collname"));
  const std::string_view collation = name.empty() ? std::string_view() : name.back();
  if (collation != "default" && collation != "C" && collation != "POSIX")
    return unsupported("collation \"" + std::string(collation) + "\"");
  NAMDB_SQL_ASSIGN(ExprPtr value, bind(*find(body, "arg")));
  NAMDB_SQL_CHECK(decide_unknown(value));
  if (!value->type.is_string()) {
    return Status(ErrorCode::datatype_mismatch,
                  "collations are not supported by type " + std::string(type_name(value->type.id)));
  }
  return value;
}

// value op ANY (array), value op ALL (array).
Result<ExprPtr> ExpressionBinder::bind_of_array(const Json& body, bool any) {
  const std::vector<std::string_view> parts = names(list(body, "name"));
  const std::string_view name = parts.empty() ? std::string_view() : parts.back();
  const std::optional<char> op = comparison_operator(name);
  if (!op) return unsupported("operator " + std::string(name) + " with ANY and ALL");
  NAMDB_SQL_ASSIGN(ExprPtr value, bind(*find(body, "lexpr")));
  NAMDB_SQL_ASSIGN(ExprPtr array, bind(*find(body, "rexpr")));
  if (array->type.id == TypeId::unknown) {
    NAMDB_SQL_CHECK(decide_unknown(value));
    NAMDB_SQL_ASSIGN(const Type type, array_of(literal_type(value->type)));
    NAMDB_SQL_CHECK(coerce(array, type, Coercion::implicit));
  }
  if (!array->type.is_array()) {
    return Status(ErrorCode::wrong_object_type, "op ANY/ALL (array) requires array on right side");
  }
  // The elements compare as a value of their type would.
  ExprPtr element = make_expr(ExprKind::outer, {element_type(array->type.id)});
  NAMDB_SQL_CHECK(unify(value, element, name));
  if (element->kind == ExprKind::cast && element->type.id != element_type(array->type.id)) {
    NAMDB_SQL_ASSIGN(const Type type, array_of(element->type.id));
    NAMDB_SQL_CHECK(coerce(array, type, Coercion::implicit));
  }
  ExprPtr expr = make_expr(any ? ExprKind::any_of_array : ExprKind::all_of_array, {TypeId::boolean}, *op);
  expr->args.push_back(std::move(value));
  expr->args.push_back(std::move(array));
  return expr;
}

}  // namespace namdb::sql
