#include "compute/sql/bind/bind_column.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/expression/function.h"
#include "compute/sql/value/called_default.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/sequence_default.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {

Status set_column_type(layout::Column& column, const Type& type) {
  switch (type.id) {
    case TypeId::boolean:
      column.type = layout::ColumnType::boolean;
      return {};
    case TypeId::int2:
      column.type = layout::ColumnType::smallint;
      return {};
    case TypeId::int4:
      column.type = layout::ColumnType::integer;
      return {};
    case TypeId::int8:
      column.type = layout::ColumnType::bigint;
      return {};
    case TypeId::float8:
      column.type = layout::ColumnType::double_precision;
      return {};
    case TypeId::float4:
      column.type = layout::ColumnType::real;
      return {};
    case TypeId::timestamp:
      column.type = layout::ColumnType::timestamp;
      return {};
    case TypeId::timestamptz:
      column.type = layout::ColumnType::timestamp_with_time_zone;
      return {};
    case TypeId::date:
      column.type = layout::ColumnType::date;
      return {};
    case TypeId::time:
      column.type = layout::ColumnType::time;
      return {};
    case TypeId::uuid:
      column.type = layout::ColumnType::uuid;
      return {};
    case TypeId::bytea:
      column.type = layout::ColumnType::bytea;
      return {};
    case TypeId::json:
      column.type = layout::ColumnType::json;
      return {};
    case TypeId::text:
    case TypeId::name:
      column.type = layout::ColumnType::text;
      return {};
    case TypeId::varchar:
    case TypeId::bpchar:
      column.type = type.id == TypeId::varchar ? layout::ColumnType::varchar : layout::ColumnType::character;
      column.length_bytes = type.length_characters().value_or(0);
      return {};
    case TypeId::numeric:
      if (!type.numeric_precision()) {
        return Status(ErrorCode::feature_not_supported, "numeric without a precision is not supported",
                      "declare column \"" + column.name + "\" as numeric(precision, scale)");
      }
      if (*type.numeric_precision() > 18) return unsupported("a numeric column of more than 18 digits");
      column.type = layout::ColumnType::numeric;
      column.precision = static_cast<std::uint8_t>(*type.numeric_precision());
      column.scale = static_cast<std::uint8_t>(*type.numeric_scale());
      return {};
    default:
      return unsupported("a column of type " + std::string(type_name(type.id)));
  }
}

namespace {

// The default that is called at the time of the insert, as the column's text of it; nullopt: it is none.
std::optional<std::string> called_default(const layout::Column& column, const Expr& expr) {
  if (expr.kind == ExprKind::cast) return called_default(column, *expr.args[0]);
  if (expr.kind != ExprKind::function) return std::nullopt;
  const std::string_view name = expr.function->name;
  if (tells_time(column) && (name == "now" || name == "current_date" || name == "localtime"))
    return std::string(kNowDefault);
  if (column.type == layout::ColumnType::uuid && name == "gen_random_uuid") return std::string(kUuidDefault);
  return std::nullopt;
}

}  // namespace

Status set_default(StatementBinder& binder, layout::Column& column, const Json& value) {
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
  expressions.set_aggregates(nullptr, "DEFAULT expressions");
  Result<ExprPtr> bound = expressions.bind(value);
  if (!bound.ok() && bound.status().code() == ErrorCode::undefined_column) {
    return Status(ErrorCode::feature_not_supported, "cannot use column reference in DEFAULT expression");
  }
  if (!bound.ok()) return bound.status();
  ExprPtr expr = std::move(bound).value();
  if (expr->is_null_constant()) return {};
  if (std::optional<std::string> called = called_default(column, *expr)) {
    column.default_text = std::move(called);
    return {};
  }
  const Type type = column_type(column);
  const Type from = expr->type;
  Status status = expressions.coerce(expr, {type.id}, Coercion::assignment);
  if (!status.ok() && status.code() == ErrorCode::datatype_mismatch) {
    return Status(ErrorCode::datatype_mismatch,
                  "column \"" + column.name + "\" is of type " + std::string(type_name(type.id)) +
                      " but default expression is of type " + std::string(type_name(from.id)),
                  "You will need to rewrite or cast the expression.");
  }
  NAMDB_SQL_CHECK(std::move(status));
  // Converted as the column stores it, so that a default that does not fit is refused here.
  if (type.modifier != -1) {
    ExprPtr cast = make_expr(ExprKind::cast, type);
    cast->args.push_back(std::move(expr));
    expr = std::move(cast);
  }
  if (!is_constant(*expr))
    return unsupported("a DEFAULT that is neither a constant nor now() nor gen_random_uuid()");
  Arena arena;
  Work work;
  EvalContext context;
  context.arena = &arena;
  context.work = &work;
  context.facts = binder.input.facts;
  Datum datum;
  NAMDB_SQL_CHECK(evaluate(*expr, context, datum));
  if (datum.null) return {};
  std::string text;
  append_text(text, {type.id}, datum);
  if (type.id == TypeId::bpchar) text.resize(without_trailing_blanks(text).size());
  column.default_text = std::move(text);
  return {};
}

Status coerce_to_column(ExpressionBinder& expressions, ExprPtr& value, const layout::Column& column) {
  const Type type = column_type(column);
  const TypeId from = value->type.id;
  Status status = expressions.coerce(value, type, Coercion::assignment);
  if (!status.ok() && status.code() == ErrorCode::datatype_mismatch) {
    return Status(ErrorCode::datatype_mismatch,
                  "column \"" + column.name + "\" is of type " + std::string(type_name(type.id)) +
                      " but expression is of type " + std::string(type_name(from)),
                  "You will need to rewrite or cast the expression.");
  }
  return status;
}

Result<ExprPtr> default_of(ExpressionBinder& expressions, const layout::Column& column) {
  if (!column.default_text) return ExprPtr();
  if (const std::optional<SequenceDefault> filled = sequence_default_of(column)) {
    const Json name = {{"A_Const", {{"sval", {{"sval", filled->name}}}}}};
    const Json call = {
        {"FuncCall",
         {{"funcname", Json::array({{{"String", {{"sval", "nextval"}}}}})}, {"args", Json::array({name})}}}};
    NAMDB_SQL_ASSIGN(ExprPtr next, expressions.bind(call));
    NAMDB_SQL_CHECK(coerce_to_column(expressions, next, column));
    return next;
  }
  if (const std::optional<CalledDefault> called = called_default_of(column)) {
    NAMDB_SQL_ASSIGN(ExprPtr value, expressions.bind_function(called->function, {}));
    NAMDB_SQL_CHECK(coerce_to_column(expressions, value, column));
    return value;
  }
  ExprPtr value = make_constant({TypeId::unknown}, Datum::of_text(*column.default_text));
  NAMDB_SQL_CHECK(coerce_to_column(expressions, value, column));
  return value;
}

}  // namespace namdb::sql
