#include "compute/sql/bind/bind_column.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "common/layout/long_value.h"
#include "common/layout/wide_value.h"
#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/expression/function.h"
#include "compute/sql/value/called_default.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/enumeration.h"
#include "compute/sql/value/sequence_default.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

struct ArrayColumn {
  TypeId id;
  layout::ColumnType type;
};
constexpr std::array kArrayColumns = {
    ArrayColumn{TypeId::boolean_array, layout::ColumnType::boolean_array},
    ArrayColumn{TypeId::int2_array, layout::ColumnType::smallint_array},
    ArrayColumn{TypeId::int4_array, layout::ColumnType::integer_array},
    ArrayColumn{TypeId::int8_array, layout::ColumnType::bigint_array},
    ArrayColumn{TypeId::float4_array, layout::ColumnType::real_array},
    ArrayColumn{TypeId::float8_array, layout::ColumnType::double_precision_array},
    ArrayColumn{TypeId::numeric_array, layout::ColumnType::numeric_array},
    ArrayColumn{TypeId::text_array, layout::ColumnType::text_array},
    ArrayColumn{TypeId::varchar_array, layout::ColumnType::varchar_array},
    ArrayColumn{TypeId::timestamp_array, layout::ColumnType::timestamp_array},
    ArrayColumn{TypeId::timestamptz_array, layout::ColumnType::timestamp_with_time_zone_array},
    ArrayColumn{TypeId::date_array, layout::ColumnType::date_array},
    ArrayColumn{TypeId::time_array, layout::ColumnType::time_array},
    ArrayColumn{TypeId::timetz_array, layout::ColumnType::time_with_time_zone_array},
    ArrayColumn{TypeId::interval_array, layout::ColumnType::interval_array},
    ArrayColumn{TypeId::uuid_array, layout::ColumnType::uuid_array},
    ArrayColumn{TypeId::bytea_array, layout::ColumnType::bytea_array},
    ArrayColumn{TypeId::json_array, layout::ColumnType::json_array},
    ArrayColumn{TypeId::jsonb_array, layout::ColumnType::jsonb_array},
};

}  // namespace

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
      column.length_bytes = 0;
      return {};
    case TypeId::float8:
      column.type = layout::ColumnType::double_precision;
      return {};
    case TypeId::float4:
      column.type = layout::ColumnType::real;
      return {};
    case TypeId::timestamp:
      column.type = layout::ColumnType::timestamp;
      column.length_bytes = static_cast<std::uint32_t>(type.modifier + 1);
      return {};
    case TypeId::timestamptz:
      column.type = layout::ColumnType::timestamp_with_time_zone;
      column.length_bytes = static_cast<std::uint32_t>(type.modifier + 1);
      return {};
    case TypeId::date:
      column.type = layout::ColumnType::date;
      return {};
    case TypeId::time:
      column.type = layout::ColumnType::time;
      column.length_bytes = static_cast<std::uint32_t>(type.modifier + 1);
      return {};
    case TypeId::timetz:
      column.type = layout::ColumnType::time_with_time_zone;
      column.length_bytes = static_cast<std::uint32_t>(type.modifier + 1);
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
    case TypeId::jsonb:
      column.type = layout::ColumnType::jsonb;
      return {};
    case TypeId::interval:
      column.type = layout::ColumnType::interval;
      column.length_bytes = type.modifier < 0 ? 0 : static_cast<std::uint32_t>(type.modifier);
      return {};
    case TypeId::text:
    case TypeId::name:
      column.type = layout::ColumnType::text;
      return {};
    case TypeId::varchar:
    case TypeId::bpchar:
      column.type = type.id == TypeId::varchar ? layout::ColumnType::varchar : layout::ColumnType::character;
      column.length_bytes = type.length_characters().value_or(0);
      column.precision = type.id == TypeId::varchar && column.length_bytes == 0 ? layout::kUnboundedVarchar
                                                                                : std::uint8_t{0};
      return {};
    case TypeId::numeric:
      column.type = type.numeric_precision().value_or(layout::kMaxWordDigits + 1) <= layout::kMaxWordDigits
                        ? layout::ColumnType::numeric
                        : layout::ColumnType::decimal;
      column.precision = static_cast<std::uint8_t>(type.numeric_precision().value_or(0));
      column.scale = static_cast<std::uint8_t>(type.numeric_scale().value_or(0));
      return {};
    default:
      if (type.is_enumeration()) {
        column.type = layout::ColumnType::bigint;
        column.length_bytes = enumeration_id(type.id);
        return {};
      }
      if (type.is_array() && type.modifier != -1 && type.id != TypeId::varchar_array)
        return unsupported("a column that is an array of elements with a length or a precision");
      for (const ArrayColumn& array : kArrayColumns) {
        if (array.id != type.id) continue;
        column.type = array.type;
        if (type.id == TypeId::varchar_array && type.modifier != -1)
          set_element_length(column, *Type{TypeId::varchar, type.modifier}.length_characters());
        return {};
      }
      return unsupported("a column of type " + std::string(type_name(type.id)));
  }
}

Status check_index_column(const layout::Column& column, bool hash) {
  if (column.is_array() || column.type == layout::ColumnType::jsonb || (hash && !column.can_be_key())) {
    return unsupported((hash ? "a hash index on a column of type " : "an index on a column of type ") +
                       std::string(layout::column_type_name(column.type)));
  }
  return {};
}

namespace {

// The default that is called at the time of the insert, as the column's text of it; nullopt: there is none.
std::optional<std::string> called_default(const layout::Column& column, const Expr& expr) {
  if (expr.kind == ExprKind::cast) return called_default(column, *expr.args[0]);
  if (expr.kind != ExprKind::function) return std::nullopt;
  const std::string_view name = expr.function->name;
  if (tells_time(column) &&
      (name == "now" || name == "current_date" || name == "current_time" || name == "localtime"))
    return std::string(kNowDefault);
  if (column.type == layout::ColumnType::uuid && name == "gen_random_uuid") return std::string(kUuidDefault);
  return std::nullopt;
}

// The digits of a literal.
std::optional<std::string> written_number(const Json& value) {
  const Node constant = node(value);
  if (constant.kind != "A_Const") return std::nullopt;
  if (const Json* const number = find(*constant.body, "ival"))
    return std::to_string(integer(*number, "ival"));
  for (const char* const member : {"fval", "sval"}) {
    const Json* const number = find(*constant.body, member);
    if (number == nullptr) continue;
    const std::string_view digits = text(*number, member);
    if (digits.empty() || digits.find_first_not_of("0123456789.") != std::string_view::npos) continue;
    return std::string(digits);
  }
  return std::nullopt;
}

// The sequence of nextval('name') and nextval('name'::regclass); nullopt: it is another expression.
std::optional<std::string> called_sequence(const Json& value) {
  const Node call = node(value);
  if (call.kind != "FuncCall" || name_in_catalog(list(*call.body, "funcname")) != "nextval")
    return std::nullopt;
  const Json& arguments = list(*call.body, "args");
  if (arguments.size() != 1) return std::nullopt;
  Node argument = node(arguments[0]);
  if (argument.kind == "TypeCast") {
    const std::vector<std::string_view> type = names(list(*find(*argument.body, "typeName"), "names"));
    if (type.empty() || (type.back() != "regclass" && type.back() != "text")) return std::nullopt;
    argument = node(*find(*argument.body, "arg"));
  }
  const Json* const name = argument.kind == "A_Const" ? find(*argument.body, "sval") : nullptr;
  if (name == nullptr) return std::nullopt;
  return relation_in_text(text(*name, "sval"));
}

}  // namespace

Status set_default(StatementBinder& binder, layout::Column& column, const Json& value) {
  if (const std::optional<std::string> sequence = called_sequence(value)) {
    if (!column_type(column).is_number())
      return unsupported("DEFAULT nextval() of a column that is no number");
    const std::optional<SequenceDefault> owned = owned_sequence_of(column);
    const bool is_own = owned && owned->name == *sequence;
    column.default_text = sequence_default_text(
        {*sequence, is_own ? SequenceDefault::Kind::serial : SequenceDefault::Kind::reference});
    return {};
  }
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
  // The label may get another name.
  append_text(text, {type.is_enumeration() ? TypeId::int8 : type.id}, datum);
  // A number stays as it is written, whatever the column's scale.
  if (std::optional<std::string> digits = written_number(value); digits && type.id == TypeId::numeric)
    text = *std::move(digits);
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
  if (!has_default(column)) return ExprPtr();
  if (const std::optional<SequenceDefault> filled = sequence_default_of(column)) {
    const Json name = {{"A_Const", {{"sval", {{"sval", quoted_name(filled->name)}}}}}};
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
  if (enumeration_of(column) != 0) {
    std::int64_t position = 0;
    const std::string& digits = *column.default_text;
    std::from_chars(digits.data(), digits.data() + digits.size(), position);
    return make_constant(column_type(column), Datum::of_integer(position));
  }
  ExprPtr value = make_constant({TypeId::unknown}, Datum::of_text(*column.default_text));
  NAMDB_SQL_CHECK(coerce_to_column(expressions, value, column));
  return value;
}

}  // namespace namdb::sql
