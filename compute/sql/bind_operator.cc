// Operators and functions of expressions.
#include <algorithm>
#include <array>

#include "compute/sql/bind_expression.h"
#include "compute/sql/check_status.h"
#include "compute/sql/functions.h"

namespace namdb::sql {
namespace {

int rank(TypeId id) {
  constexpr std::array kOrder = {TypeId::int2, TypeId::int4, TypeId::int8, TypeId::numeric, TypeId::float8};
  return static_cast<int>(std::ranges::find(kOrder, id) - kOrder.begin());
}

Status no_operator(std::string_view name, const Type& left, const Type& right) {
  return Status(ErrorCode::undefined_function,
                "operator does not exist: " + std::string(type_name(left.id)) + " " + std::string(name) +
                    " " + std::string(type_name(right.id)),
                "No operator matches the given name and argument types. You might need to add explicit type "
                "casts.");
}

// The type to which operands of two types go, if there is one without an explicit cast.
std::optional<Type> common_type(const Type& left, const Type& right) {
  if (left.id == right.id) return Type{left.id, left.modifier == right.modifier ? left.modifier : -1};
  if (left.is_number() && right.is_number()) return Type{rank(left.id) > rank(right.id) ? left.id : right.id};
  if (left.is_string() && right.is_string()) return Type{TypeId::text};
  if (left.type_class() == TypeClass::time && right.type_class() == TypeClass::time)
    return Type{TypeId::timestamptz};
  return std::nullopt;
}

}  // namespace

Status ExpressionBinder::unify(ExprPtr& left, ExprPtr& right, std::string_view operator_name) {
  if (left->type.id == TypeId::unknown && right->type.id == TypeId::unknown) {
    NAMDB_SQL_CHECK(decide_unknown(left));
    NAMDB_SQL_CHECK(decide_unknown(right));
  }
  if (left->type.id == TypeId::unknown) NAMDB_SQL_CHECK(coerce(left, {right->type.id}, Coercion::implicit));
  if (right->type.id == TypeId::unknown) NAMDB_SQL_CHECK(coerce(right, {left->type.id}, Coercion::implicit));
  const std::optional<Type> type = common_type(left->type, right->type);
  if (!type) return no_operator(operator_name, left->type, right->type);
  // Integers of any width compare as they are.
  if (left->type.is_integer() && right->type.is_integer()) return {};
  NAMDB_SQL_CHECK(coerce(left, {type->id}, Coercion::implicit));
  return coerce(right, {type->id}, Coercion::implicit);
}

Status ExpressionBinder::unify_all(std::span<ExprPtr> exprs, std::string_view construct, Type& type) {
  type = {};
  for (const ExprPtr& expr : exprs) {
    if (expr->type.id == TypeId::unknown) continue;
    const std::optional<Type> common =
        type.id == TypeId::unknown ? expr->type : common_type(type, expr->type);
    if (!common) {
      return Status(ErrorCode::datatype_mismatch,
                    std::string(construct) + " types " + std::string(type_name(type.id)) + " and " +
                        std::string(type_name(expr->type.id)) + " cannot be matched");
    }
    type = *common;
  }
  if (type.id == TypeId::unknown) type = {TypeId::text};
  for (ExprPtr& expr : exprs) {
    // Values that differ in their modifier only keep their digits.
    const Type target = expr->type.id == type.id ? expr->type : Type{type.id};
    NAMDB_SQL_CHECK(coerce(expr, target, Coercion::implicit));
  }
  return {};
}

Result<ExprPtr> ExpressionBinder::bind_operator(const Json& body) {
  NAMDB_SQL_CHECK(only(body, "an operator", {"kind", "name", "lexpr", "rexpr"}));
  const std::string_view kind = text(body, "kind");
  if (kind == "AEXPR_IN") return bind_in(body);
  if (kind == "AEXPR_BETWEEN" || kind == "AEXPR_NOT_BETWEEN")
    return bind_between(body, kind == "AEXPR_NOT_BETWEEN");
  if (kind == "AEXPR_LIKE") return bind_like(body);
  if (kind == "AEXPR_NULLIF") return bind_null_if(body);
  if (kind == "AEXPR_ILIKE") return unsupported("ILIKE");
  if (kind == "AEXPR_SIMILAR") return unsupported("SIMILAR TO");
  if (kind.starts_with("AEXPR_BETWEEN") || kind.starts_with("AEXPR_NOT_BETWEEN"))
    return unsupported("BETWEEN SYMMETRIC");
  if (kind == "AEXPR_OP_ANY" || kind == "AEXPR_OP_ALL") return unsupported("ANY and ALL over arrays");
  const bool distinct = kind == "AEXPR_DISTINCT" || kind == "AEXPR_NOT_DISTINCT";
  if (kind != "AEXPR_OP" && !distinct) return unsupported("operator form " + std::string(kind));
  const std::vector<std::string_view> parts = names(list(body, "name"));
  if (parts.size() != 1) return unsupported("OPERATOR()");
  const Json* left_json = find(body, "lexpr");
  const Json* right_json = find(body, "rexpr");
  if (right_json == nullptr) return unsupported("a postfix operator");
  if (left_json == nullptr) return bind_unary(parts[0], *right_json);
  NAMDB_SQL_ASSIGN(ExprPtr left, bind(*left_json));
  NAMDB_SQL_ASSIGN(ExprPtr right, bind(*right_json));
  if (distinct) {
    return bind_compare(kind == "AEXPR_DISTINCT" ? 'D' : 'N', "IS DISTINCT FROM", std::move(left),
                        std::move(right));
  }
  return bind_named_operator(parts[0], std::move(left), std::move(right));
}

Result<ExprPtr> ExpressionBinder::bind_named_operator(std::string_view name, ExprPtr left, ExprPtr right) {
  struct Operator {
    std::string_view name;
    char op;
    bool comparison;
  };
  constexpr std::array kOperators = {
      Operator{"=", '=', true},  Operator{"<>", '!', true}, Operator{"<", '<', true},
      Operator{">", '>', true},  Operator{"<=", 'l', true}, Operator{">=", 'g', true},
      Operator{"+", '+', false}, Operator{"-", '-', false}, Operator{"*", '*', false},
      Operator{"/", '/', false}, Operator{"%", '%', false}};
  if (name == "||") {
    NAMDB_SQL_CHECK(decide_unknown(left));
    NAMDB_SQL_CHECK(decide_unknown(right));
    if (!left->type.is_string() && !right->type.is_string())
      return no_operator(name, left->type, right->type);
    ExprPtr expr = make_expr(ExprKind::concat, {TypeId::text});
    for (ExprPtr* operand : {&left, &right}) {
      NAMDB_SQL_CHECK(coerce(*operand, {TypeId::text}, Coercion::assignment));
      expr->args.push_back(std::move(*operand));
    }
    return expr;
  }
  for (const Operator& op : kOperators) {
    if (op.name != name) continue;
    return op.comparison ? bind_compare(op.op, name, std::move(left), std::move(right))
                         : bind_arithmetic(op.op, name, std::move(left), std::move(right));
  }
  return unsupported("operator " + std::string(name));
}

Result<ExprPtr> ExpressionBinder::bind_compare(char op, std::string_view name, ExprPtr left, ExprPtr right) {
  NAMDB_SQL_CHECK(unify(left, right, name));
  ExprPtr expr = make_expr(ExprKind::compare, {TypeId::boolean}, op);
  expr->args.push_back(std::move(left));
  expr->args.push_back(std::move(right));
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_arithmetic(char op, std::string_view name, ExprPtr left,
                                                  ExprPtr right) {
  const Type left_type = left->type;
  const Type right_type = right->type;
  if (left_type.type_class() == TypeClass::time || right_type.type_class() == TypeClass::time)
    return unsupported("arithmetic with timestamps");
  if (left_type.id == TypeId::unknown && right_type.id == TypeId::unknown)
    return no_operator(name, left_type, right_type);
  NAMDB_SQL_CHECK(unify(left, right, name));
  if (!left->type.is_number()) return no_operator(name, left_type, right_type);
  const Type type{rank(left->type.id) > rank(right->type.id) ? left->type.id : right->type.id};
  if (op == '%' && type.id == TypeId::float8) return no_operator(name, left_type, right_type);
  ExprPtr expr = make_expr(ExprKind::arithmetic, type, op);
  expr->args.push_back(std::move(left));
  expr->args.push_back(std::move(right));
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_unary(std::string_view name, const Json& operand_json) {
  NAMDB_SQL_ASSIGN(ExprPtr operand, bind(operand_json));
  if (name != "-" && name != "+") return unsupported("operator " + std::string(name));
  if (operand->type.id == TypeId::unknown)
    NAMDB_SQL_CHECK(coerce(operand, {TypeId::float8}, Coercion::implicit));
  if (!operand->type.is_number()) {
    return Status(ErrorCode::undefined_function, "operator does not exist: " + std::string(name) + " " +
                                                     std::string(type_name(operand->type.id)));
  }
  if (name == "+") return operand;
  // 9223372036854775808 alone is no bigint, its negation is; and -2147483648 is an integer.
  if (operand->kind == ExprKind::constant && !operand->value.null) {
    if (operand->type.id == TypeId::numeric && operand->value.scale == 0 &&
        operand->value.unscaled == -static_cast<Int128>(INT64_MIN)) {
      return make_constant({TypeId::int8}, Datum::of_integer(INT64_MIN));
    }
    if (operand->type.id == TypeId::int8 && operand->value.integer == -static_cast<std::int64_t>(INT32_MIN))
      return make_constant({TypeId::int4}, Datum::of_integer(INT32_MIN));
  }
  ExprPtr expr = make_expr(ExprKind::negate, {operand->type.id});
  expr->args.push_back(std::move(operand));
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_in(const Json& body) {
  const Node items = node(*find(body, "rexpr"));
  if (items.kind != "List") return unsupported(items);
  NAMDB_SQL_ASSIGN(ExprPtr value, bind(*find(body, "lexpr")));
  ExprPtr expr = make_expr(ExprKind::in_list, {TypeId::boolean});
  expr->args.push_back(std::move(value));
  for (const Json& item : list(*items.body, "items")) {
    NAMDB_SQL_ASSIGN(ExprPtr bound, bind(item));
    expr->args.push_back(std::move(bound));
  }
  // One type for all, so that the comparison knows how.
  Type type;
  NAMDB_SQL_CHECK(unify_all(expr->args, "IN", type));
  const std::vector<std::string_view> parts = names(list(body, "name"));
  if (parts.size() == 1 && parts[0] == "<>") {
    ExprPtr negated = make_expr(ExprKind::logical_not, {TypeId::boolean});
    negated->args.push_back(std::move(expr));
    return negated;
  }
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_between(const Json& body, bool negated) {
  const Node bounds = node(*find(body, "rexpr"));
  if (bounds.kind != "List" || list(*bounds.body, "items").size() != 2) return unsupported(bounds);
  ExprPtr both = make_expr(ExprKind::logical_and, {TypeId::boolean});
  for (std::size_t i = 0; i < 2; ++i) {
    NAMDB_SQL_ASSIGN(ExprPtr value, bind(*find(body, "lexpr")));
    NAMDB_SQL_ASSIGN(ExprPtr bound, bind(list(*bounds.body, "items")[i]));
    NAMDB_SQL_ASSIGN(
        ExprPtr compared,
        bind_compare(i == 0 ? 'g' : 'l', i == 0 ? ">=" : "<=", std::move(value), std::move(bound)));
    both->args.push_back(std::move(compared));
  }
  if (!negated) return both;
  ExprPtr expr = make_expr(ExprKind::logical_not, {TypeId::boolean});
  expr->args.push_back(std::move(both));
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_like(const Json& body) {
  const std::vector<std::string_view> parts = names(list(body, "name"));
  const bool negated = parts.size() == 1 && parts[0] == "!~~";
  ExprPtr expr = make_expr(ExprKind::like, {TypeId::boolean}, negated ? '!' : ' ');
  for (const char* side : {"lexpr", "rexpr"}) {
    NAMDB_SQL_ASSIGN(ExprPtr operand, bind(*find(body, side)));
    NAMDB_SQL_CHECK(decide_unknown(operand));
    if (!operand->type.is_string()) return no_operator("~~", operand->type, {TypeId::text});
    expr->args.push_back(std::move(operand));
  }
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_null_if(const Json& body) {
  NAMDB_SQL_ASSIGN(ExprPtr value, bind(*find(body, "lexpr")));
  NAMDB_SQL_ASSIGN(ExprPtr again, bind(*find(body, "lexpr")));
  NAMDB_SQL_ASSIGN(ExprPtr other, bind(*find(body, "rexpr")));
  NAMDB_SQL_ASSIGN(ExprPtr compared, bind_compare('=', "=", std::move(again), std::move(other)));
  if (value->type.id == TypeId::unknown)
    NAMDB_SQL_CHECK(coerce(value, {compared->args[0]->type.id}, Coercion::implicit));
  ExprPtr expr = make_expr(ExprKind::null_if, value->type);
  expr->args.push_back(std::move(value));
  expr->args.push_back(std::move(compared));
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_value_function(const Json& body) {
  const std::string_view op = text(body, "op");
  struct Row {
    std::string_view op;
    std::string_view function;
  };
  constexpr std::array kRows = {
      Row{"SVFOP_CURRENT_TIMESTAMP", "now"},         Row{"SVFOP_LOCALTIMESTAMP", "now"},
      Row{"SVFOP_CURRENT_USER", "current_user"},     Row{"SVFOP_USER", "current_user"},
      Row{"SVFOP_SESSION_USER", "current_user"},     Row{"SVFOP_CURRENT_ROLE", "current_user"},
      Row{"SVFOP_CURRENT_SCHEMA", "current_schema"}, Row{"SVFOP_CURRENT_CATALOG", "current_database"}};
  for (const Row& row : kRows) {
    if (row.op != op) continue;
    NAMDB_SQL_ASSIGN(ExprPtr expr, bind_function(row.function, {}));
    if (op == "SVFOP_LOCALTIMESTAMP")
      NAMDB_SQL_CHECK(coerce(expr, {TypeId::timestamp}, Coercion::explicit_cast));
    return expr;
  }
  return unsupported(op.starts_with("SVFOP_") ? op.substr(6) : op);
}

Result<ExprPtr> ExpressionBinder::bind_call(const Json& body) {
  NAMDB_SQL_CHECK(
      only(body, "a function call", {"funcname", "args", "agg_star", "funcformat", "agg_distinct"}));
  const std::vector<std::string_view> parts = names(list(body, "funcname"));
  if (parts.empty() || parts.size() > 2 || (parts.size() == 2 && parts[0] != "pg_catalog"))
    return unsupported("a function of another schema");
  const std::string_view name = parts.back();
  for (const std::string_view aggregate : {"count", "sum", "min", "max", "avg"}) {
    if (name == aggregate) return bind_aggregate(name, body);
  }
  if (flag(body, "agg_star") || flag(body, "agg_distinct")) {
    return Status(ErrorCode::wrong_object_type,
                  std::string(name) + " is not an aggregate function that is supported");
  }
  std::vector<ExprPtr> args;
  for (const Json& argument : list(body, "args")) {
    NAMDB_SQL_ASSIGN(ExprPtr value, bind(argument));
    args.push_back(std::move(value));
  }
  if (name == "mod" && args.size() == 2)
    return bind_arithmetic('%', "%", std::move(args[0]), std::move(args[1]));
  return bind_function(name, std::move(args));
}

Result<ExprPtr> ExpressionBinder::bind_function(std::string_view name, std::vector<ExprPtr> args) {
  const std::vector<const Function*> overloads = functions_named(name);
  // The overload that needs the fewest conversions; the first of equals.
  const Function* best = nullptr;
  std::size_t best_conversions = SIZE_MAX;
  for (const Function* function : overloads) {
    if (function->parameters.size() != args.size()) continue;
    std::size_t conversions = 0;
    bool possible = true;
    for (std::size_t i = 0; i < args.size(); ++i) {
      const TypeId from = args[i]->type.id;
      if (from == function->parameters[i]) continue;
      possible = possible && can_cast(from, function->parameters[i], Coercion::implicit);
      // For an unknown argument PostgreSQL prefers double precision among numbers.
      conversions += from == TypeId::unknown && function->parameters[i] == TypeId::float8 ? 1 : 2;
    }
    if (possible && conversions < best_conversions) {
      best = function;
      best_conversions = conversions;
    }
  }
  if (best == nullptr) {
    std::string signature = std::string(name) + "(";
    for (std::size_t i = 0; i < args.size(); ++i)
      signature += (i == 0 ? "" : ", ") + std::string(type_name(args[i]->type.id));
    return Status(
        ErrorCode::undefined_function, "function " + signature + ") does not exist",
        "No function matches the given name and argument types. You might need to add explicit type "
        "casts.");
  }
  ExprPtr expr = make_expr(ExprKind::function, {best->result});
  expr->function = best;
  for (std::size_t i = 0; i < args.size(); ++i) {
    NAMDB_SQL_CHECK(coerce(args[i], {best->parameters[i]}, Coercion::implicit));
    expr->args.push_back(std::move(args[i]));
  }
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_aggregate(std::string_view name, const Json& body) {
  if (aggregates_ == nullptr) {
    return Status(ErrorCode::grouping_error,
                  "aggregate functions are not allowed in " + std::string(clause_));
  }
  if (flag(body, "agg_distinct")) return unsupported("DISTINCT in an aggregate");
  const Json& args = list(body, "args");
  Aggregate aggregate;
  if (flag(body, "agg_star")) {
    if (name != "count")
      return Status(ErrorCode::undefined_function, "function " + std::string(name) + "() does not exist");
    aggregate.type = {TypeId::int8};
  } else {
    if (args.size() != 1) {
      return Status(ErrorCode::undefined_function,
                    "aggregate function " + std::string(name) + " takes one argument");
    }
    std::vector<Aggregate>* const outer = std::exchange(aggregates_, nullptr);
    const std::string_view outer_clause = std::exchange(clause_, "an aggregate function");
    Result<ExprPtr> argument = bind(args[0]);
    aggregates_ = outer;
    clause_ = outer_clause;
    if (!argument.ok()) return argument;
    NAMDB_SQL_CHECK(decide_unknown(*argument));
    const Type type = (*argument)->type;
    const auto no_such = [&] {
      return Status(ErrorCode::undefined_function, "function " + std::string(name) + "(" +
                                                       std::string(type_name(type.id)) + ") does not exist");
    };
    if (name == "count") {
      aggregate.kind = AggregateKind::count;
      aggregate.type = {TypeId::int8};
    } else if (name == "sum" || name == "avg") {
      if (!type.is_number()) return no_such();
      aggregate.kind = name == "sum" ? AggregateKind::sum : AggregateKind::average;
      aggregate.type = {type.id == TypeId::float8 ? TypeId::float8
                        : name == "sum" && (type.id == TypeId::int2 || type.id == TypeId::int4)
                            ? TypeId::int8
                            : TypeId::numeric};
    } else {
      if (type.id == TypeId::boolean) return no_such();
      aggregate.kind = name == "min" ? AggregateKind::minimum : AggregateKind::maximum;
      aggregate.type = {type.id == TypeId::varchar ? TypeId::text : type.id};
    }
    aggregate.argument = std::move(argument).value();
  }
  ExprPtr expr = make_expr(ExprKind::aggregate, aggregate.type);
  expr->index = static_cast<std::uint32_t>(aggregates_->size());
  aggregates_->push_back(std::move(aggregate));
  return expr;
}

}  // namespace namdb::sql
