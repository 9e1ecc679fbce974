#include "compute/sql/bind/bind_expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compute/sql/bind/check_status.h"
#include "compute/sql/system/virtual_table.h"
#include "compute/sql/value/calendar.h"
#include "compute/sql/value/enumeration.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

constexpr int kMaxDepth = 400;

}  // namespace

ExprPtr scope_column(const Scope& scope, std::uint32_t column) {
  ExprPtr expr = make_expr(ExprKind::column, scope.columns[column].type);
  expr->index = column;
  return expr;
}

void Scope::add(std::string name, std::string table, const std::vector<Column>& relation_columns) {
  const auto first = static_cast<std::uint32_t>(columns.size());
  relations.push_back(
      {std::move(name), std::move(table), first, static_cast<std::uint32_t>(relation_columns.size())});
  for (const Column& column : relation_columns) {
    if (!column.hidden)
      shown.push_back({column.name, static_cast<std::uint32_t>(columns.size()), column.type});
    columns.push_back(column);
  }
}

const Scope::Relation* Scope::find(std::string_view name) const {
  const auto found = std::ranges::find(relations, name, &Relation::name);
  return found == relations.end() ? nullptr : &*found;
}

const Scope::Relation& Scope::relation_of(std::uint32_t column) const {
  return *std::ranges::find_if(relations, [column](const Relation& relation) {
    return column >= relation.first_column && column < relation.first_column + relation.columns;
  });
}

std::string table_name_of(const Source& source) {
  if (source.table != nullptr) return source.table->name;
  return source.virtual_table == nullptr ? std::string() : std::string(source.virtual_table->name);
}

std::vector<Scope::Column> columns_of(const Source& source) {
  std::vector<Scope::Column> columns;
  if (source.table != nullptr) {
    std::uint16_t number = 0;
    for (const layout::Column& column : source.table->schema.columns()) {
      const bool hidden = is_hidden(column);
      columns.push_back({column.name, column_type(column), hidden});
      if (hidden) continue;
      columns.back().table = stored_oid(source.table->id, 0);
      columns.back().number = ++number;
    }
  } else if (source.virtual_table != nullptr) {
    for (const VirtualColumn& column : source.virtual_table->columns)
      columns.push_back({std::string(column.name), column.type, column.hidden});
  }
  const std::vector<ResultColumn>* const made = source.working != nullptr    ? &source.working->columns
                                                : source.function != nullptr ? &source.function->columns
                                                : source.derived != nullptr  ? &source.derived->columns
                                                                             : nullptr;
  if (made == nullptr) return columns;
  for (const ResultColumn& column : *made) columns.push_back({column.name, column.type});
  return columns;
}

Scope scope_of(const Source& source) {
  Scope scope;
  scope.add(source.name, table_name_of(source), columns_of(source));
  return scope;
}

ExprPtr shown_column(const Scope& scope, const Scope::Shown& shown) {
  const auto as_shown = [&](std::uint32_t index) {
    ExprPtr column = scope_column(scope, index);
    if (column->type == shown.type) return column;
    ExprPtr cast = make_expr(ExprKind::cast, shown.type);
    cast->args.push_back(std::move(column));
    return cast;
  };
  if (!shown.other) return as_shown(shown.column);
  ExprPtr either = make_expr(ExprKind::coalesce, shown.type);
  either->args.push_back(as_shown(shown.column));
  either->args.push_back(as_shown(*shown.other));
  return either;
}

Result<ExprPtr> ExpressionBinder::bind(const Json& json) {
  if (depth_ >= kMaxDepth) {
    return Status(ErrorCode::statement_too_complex, "expression is nested too deeply",
                  "at most " + std::to_string(kMaxDepth) + " levels");
  }
  ++depth_;
  Result<ExprPtr> result = bind_node(node(json));
  --depth_;
  if (!result.ok()) {
    const Json* const body = node(json).body;
    if (place_ != nullptr && body != nullptr) place_->note(*body);
    return result;
  }
  return fold(std::move(result).value());
}

Result<ExprPtr> ExpressionBinder::bind_node(Node e) {
  if (e.kind == "A_Const") return bind_constant(*e.body);
  if (e.kind == "ColumnRef") return bind_column(*e.body);
  if (e.kind == "ParamRef") return bind_parameter(*e.body);
  if (e.kind == "A_Expr") return bind_operator(*e.body);
  if (e.kind == "BoolExpr") return bind_logical(*e.body);
  if (e.kind == "TypeCast") return bind_cast(*e.body);
  if (e.kind == "FuncCall") return bind_call(*e.body);
  if (e.kind == "SQLValueFunction") return bind_value_function(*e.body);
  if (e.kind == "CaseExpr") return bind_case(*e.body);
  if (e.kind == "SubLink") return bind_subquery(*e.body);
  if (e.kind == "A_ArrayExpr") return bind_array(*e.body, {});
  if (e.kind == "A_Indirection") return bind_subscript(*e.body);
  if (e.kind == "CollateClause") return bind_collate(*e.body);
  if (e.kind == "BooleanTest") return bind_boolean_test(*e.body);
  if (e.kind == "CoalesceExpr") return bind_variadic(ExprKind::coalesce, "COALESCE", list(*e.body, "args"));
  if (e.kind == "MinMaxExpr") {
    const bool least = text(*e.body, "op") == "IS_LEAST";
    return bind_variadic(least ? ExprKind::least : ExprKind::greatest, least ? "LEAST" : "GREATEST",
                         list(*e.body, "args"));
  }
  if (e.kind == "GroupingFunc") return bind_grouping(*e.body);
  if (e.kind == "NullTest") {
    NAMDB_SQL_CHECK(only(*e.body, "IS NULL", {"arg", "nulltesttype"}));
    const bool is_null = text(*e.body, "nulltesttype") == "IS_NULL";
    if (const Json& tested = *find(*e.body, "arg"); is_row(tested))
      return bind_row_null_test(tested, is_null);
    NAMDB_SQL_ASSIGN(ExprPtr argument, bind(*find(*e.body, "arg")));
    ExprPtr test = make_expr(is_null ? ExprKind::is_null : ExprKind::is_not_null, {TypeId::boolean});
    test->args.push_back(std::move(argument));
    return test;
  }
  return unsupported(e);
}

Result<ExprPtr> ExpressionBinder::bind_condition(const Json& json, std::string_view clause) {
  NAMDB_SQL_ASSIGN(ExprPtr condition, bind(json));
  if (condition->type.id != TypeId::boolean && condition->type.id != TypeId::unknown) {
    if (place_ != nullptr) place_->note_begin(json);
    return Status(ErrorCode::datatype_mismatch, "argument of " + std::string(clause) +
                                                    " must be type boolean, not type " +
                                                    std::string(type_name(condition->type.id)));
  }
  NAMDB_SQL_CHECK(coerce(condition, {TypeId::boolean}, Coercion::implicit));
  return condition;
}

Result<ExprPtr> ExpressionBinder::bind_constant(const Json& body) {
  if (flag(body, "isnull")) return make_constant({TypeId::unknown}, Datum());
  if (const Json* value = find(body, "ival"))
    return make_constant({TypeId::int4}, Datum::of_integer(integer(*value, "ival")));
  if (const Json* value = find(body, "boolval"))
    return make_constant({TypeId::boolean}, Datum::of_boolean(flag(*value, "boolval")));
  if (const Json* value = find(body, "sval")) {
    ExprPtr literal = make_constant({TypeId::unknown}, Datum::of_text(text(*value, "sval")));
    if (place_ != nullptr) literals_.emplace_back(literal.get(), integer(body, "location"));
    return literal;
  }
  if (const Json* value = find(body, "fval")) {
    const std::string_view digits = text(*value, "fval");
    std::int64_t whole = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
    if (error == std::errc() && stop == digits.data() + digits.size()) {
      // -2147483648 is an integer, although its digits alone are not.
      const bool small = whole == static_cast<std::int32_t>(whole);
      return make_constant({small ? TypeId::int4 : TypeId::int8}, Datum::of_integer(whole));
    }
    NAMDB_SQL_ASSIGN(const Decimal number, parse_decimal(digits));
    return make_constant({TypeId::numeric}, Datum::of_decimal(number));
  }
  return unsupported("this kind of constant");
}

Result<ExprPtr> ExpressionBinder::bind_logical(const Json& body) {
  const std::string_view op = text(body, "boolop");
  const std::string_view name = op == "AND_EXPR" ? "AND" : op == "OR_EXPR" ? "OR" : "NOT";
  ExprPtr expr = make_expr(op == "AND_EXPR"  ? ExprKind::logical_and
                           : op == "OR_EXPR" ? ExprKind::logical_or
                                             : ExprKind::logical_not,
                           {TypeId::boolean});
  for (const Json& argument : list(body, "args")) {
    NAMDB_SQL_ASSIGN(ExprPtr operand, bind_condition(argument, name));
    expr->args.push_back(std::move(operand));
  }
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_boolean_test(const Json& body) {
  const std::string_view test = text(body, "booltesttype");
  std::string name(test);
  std::ranges::replace(name, '_', ' ');
  NAMDB_SQL_ASSIGN(ExprPtr operand, bind_condition(*find(body, "arg"), name));
  const bool negated = test.starts_with("IS_NOT_");
  char op = test.ends_with("TRUE") ? 't' : test.ends_with("FALSE") ? 'f' : 'u';
  if (negated) op = static_cast<char>(op - 32);
  ExprPtr expr = make_expr(ExprKind::boolean_test, {TypeId::boolean}, op);
  expr->args.push_back(std::move(operand));
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_case(const Json& body) {
  NAMDB_SQL_CHECK(only(body, "CASE", {"arg", "args", "defresult"}));
  const Json* subject = find(body, "arg");
  std::vector<ExprPtr> conditions;
  std::vector<ExprPtr> values;
  for (const Json& item : list(body, "args")) {
    const Json& when = *node(item).body;
    if (subject != nullptr) {
      NAMDB_SQL_ASSIGN(ExprPtr left, bind(*subject));
      NAMDB_SQL_CHECK(decide_unknown(left));
      NAMDB_SQL_ASSIGN(ExprPtr right, bind(*find(when, "expr")));
      NAMDB_SQL_ASSIGN(ExprPtr condition, bind_compare('=', "=", std::move(left), std::move(right)));
      conditions.push_back(std::move(condition));
    } else {
      NAMDB_SQL_ASSIGN(ExprPtr condition, bind_condition(*find(when, "expr"), "CASE/WHEN"));
      conditions.push_back(std::move(condition));
    }
    NAMDB_SQL_ASSIGN(ExprPtr value, bind(*find(when, "result")));
    values.push_back(std::move(value));
  }
  // ELSE comes first in choosing the type; without it, it is NULL.
  const Json* otherwise = find(body, "defresult");
  ExprPtr last = make_constant({TypeId::unknown}, Datum());
  if (otherwise != nullptr) {
    NAMDB_SQL_ASSIGN(last, bind(*otherwise));
  }
  values.push_back(std::move(last));
  std::vector<ExprPtr*> in_order = {&values.back()};
  for (std::size_t i = 0; i < conditions.size(); ++i) in_order.push_back(&values[i]);
  Type type;
  NAMDB_SQL_CHECK(unify_all(in_order, "CASE", type));
  ExprPtr expr = make_expr(ExprKind::case_when, type);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i < conditions.size()) expr->args.push_back(std::move(conditions[i]));
    expr->args.push_back(std::move(values[i]));
  }
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_variadic(ExprKind kind, std::string_view name, const Json& args) {
  ExprPtr expr = make_expr(kind, {});
  for (const Json& argument : args) {
    NAMDB_SQL_ASSIGN(ExprPtr value, bind(argument));
    expr->args.push_back(std::move(value));
  }
  std::vector<ExprPtr*> all;
  for (ExprPtr& argument : expr->args) all.push_back(&argument);
  NAMDB_SQL_CHECK(unify_all(all, name, expr->type));
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_cast(const Json& body) {
  const Json& type_name = *find(body, "typeName");
  const Result<Type> named = bind_type(type_name, facts_);
  if (!named.ok()) return located(place_, type_name, named.status());
  const Type type = *named;
  const Node inner = node(*find(body, "arg"));
  if (type.type_class() == TypeClass::real && inner.kind == "A_Const") {
    // Digits that double precision can hold and numeric cannot: 1e300::double precision.
    if (const Json* number = find(*inner.body, "fval")) {
      Datum value;
      Arena arena;
      NAMDB_SQL_CHECK(parse_text(text(*number, "fval"), type.id, TimeContext(), arena, value));
      return make_constant(type, value);
    }
  }
  if (type.id == TypeId::interval && type.modifier != -1 && inner.kind == "A_Const") {
    if (const Json* const literal = find(*inner.body, "sval"))
      return bind_interval(text(*literal, "sval"), type);
  }
  if (inner.kind == "A_ArrayExpr" && type.is_array()) return bind_array(*inner.body, type);
  NAMDB_SQL_ASSIGN(ExprPtr argument, bind(*find(body, "arg")));
  NAMDB_SQL_CHECK(coerce(argument, type, Coercion::explicit_cast));
  return argument;
}

Result<ExprPtr> ExpressionBinder::bind_interval(std::string_view literal, const Type& type) {
  NAMDB_SQL_ASSIGN(const Interval interval, parse_interval(literal, type.modifier >> 16 & kAllFields));
  return make_constant(type, Datum::of_interval(restricted(interval, type.modifier)));
}

Result<ExprPtr> ExpressionBinder::read_literal(const std::string& text, const Type& type) const {
  // The fields of an interval tell what its numbers mean.
  if (type.id == TypeId::interval && type.modifier != -1) {
    NAMDB_SQL_ASSIGN(ExprPtr interval, bind_interval(text, type));
    interval->type = {TypeId::interval};
    return interval;
  }
  Datum value;
  Arena arena;
  NAMDB_SQL_CHECK(parse_text(text, type.id, time_of(facts_), arena, value));
  return make_constant({type.id}, value);
}

Status ExpressionBinder::coerce(ExprPtr& expr, Type target, Coercion coercion) {
  // store_value() applies the column's modifier.
  const Type wanted = coercion == Coercion::assignment ? Type{target.id} : target;
  // The catalog gives the value when the statement runs.
  if (expr->type.id == TypeId::unknown && target.is_catalog_object()) NAMDB_SQL_CHECK(decide_unknown(expr));
  if (expr->type.id == TypeId::unknown) {
    if (expr->kind == ExprKind::parameter) {
      Type& declared = parameters_[expr->index];
      if (declared.id == TypeId::unknown) declared = {target.id};
      expr->type = declared;
    } else if (expr->kind == ExprKind::constant) {
      if (!expr->value.null) {
        Result<ExprPtr> constant = read_literal(*expr->storage, target);
        if (!constant.ok()) {
          note_literal(*expr);
          return constant.status();
        }
        expr = std::move(*constant);
      } else {
        expr->type = wanted;
      }
    } else {
      NAMDB_SQL_CHECK(decide_unknown(expr));
    }
  }
  if (expr->type.id == wanted.id && (expr->type == wanted || wanted.modifier == -1)) {
    // A column cannot change its type: the cast removes the length from the expression's type.
    if (expr->type == wanted || coercion != Coercion::explicit_cast) return {};
  }
  if (!can_cast(expr->type.id, wanted.id, coercion)) {
    return Status(
        coercion == Coercion::explicit_cast ? ErrorCode::cannot_coerce : ErrorCode::datatype_mismatch,
        "cannot cast type " + std::string(type_name(expr->type.id)) + " to " +
            std::string(type_name(wanted.id)));
  }
  ExprPtr cast = make_expr(ExprKind::cast, wanted);
  cast->explicit_cast = coercion == Coercion::explicit_cast;
  cast->args.push_back(std::move(expr));
  expr = fold(std::move(cast));
  return {};
}

void ExpressionBinder::note_literal(const Expr& expr) {
  // The last entry with that address: earlier ones are of expressions that were destroyed.
  const auto found = std::find_if(literals_.rbegin(), literals_.rend(),
                                  [&expr](const auto& literal) { return literal.first == &expr; });
  if (found != literals_.rend()) place_->note_at(found->second);
}

Status ExpressionBinder::decide_unknown(ExprPtr& expr) {
  if (expr->type.id != TypeId::unknown) return {};
  if (expr->kind == ExprKind::constant || expr->kind == ExprKind::parameter)
    return coerce(expr, {TypeId::text}, Coercion::implicit);
  expr->type = {TypeId::text};
  return {};
}

ExprPtr ExpressionBinder::fold(ExprPtr expr) const {
  if (expr->kind == ExprKind::constant || !is_constant(*expr)) return expr;
  Arena arena;
  // An expression that takes long, or whose value is long, is evaluated when the statement runs, where it can
  // be interrupted.
  constexpr std::uint64_t kMost_units = 64 << 10;
  Work work(kMost_units);
  EvalContext context;
  context.arena = &arena;
  context.work = &work;
  context.facts = facts_;
  Datum value;
  if (!evaluate(*expr, context, value).ok()) return expr;
  return make_constant(expr->type, value);
}

}  // namespace namdb::sql
