// Operators of expressions.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/expression/compared_date.h"
#include "compute/sql/expression/functions.h"
#include "compute/sql/value/overload.h"

namespace namdb::sql {
namespace {

int rank(TypeId id) {
  constexpr std::array kOrder = {TypeId::int2,    TypeId::int4,   TypeId::int8,
                                 TypeId::numeric, TypeId::float4, TypeId::float8};
  return static_cast<int>(std::ranges::find(kOrder, id) - kOrder.begin());
}

Status no_operator(std::string_view name, const Type& left, const Type& right) {
  return Status(ErrorCode::undefined_function,
                "operator does not exist: " + std::string(type_name(left.id)) + " " + std::string(name) +
                    " " + std::string(type_name(right.id)),
                "No operator matches the given name and argument types. You might need to add explicit type "
                "casts.");
}

Status not_unique(std::string_view name, const Type* left, const Type& right) {
  return Status(ErrorCode::ambiguous_function,
                "operator is not unique: " +
                    (left == nullptr ? std::string() : std::string(type_name(left->id)) + " ") +
                    std::string(name) + " " + std::string(type_name(right.id)),
                "Could not choose a best candidate operator. You might need to add explicit type casts.");
}

Status no_unary_operator(std::string_view name, const Type& operand) {
  return Status(ErrorCode::undefined_function,
                "operator does not exist: " + std::string(name) + " " + std::string(type_name(operand.id)));
}

// Dates, times and intervals.
bool is_time(const Type& type) {
  const TypeClass type_class = type.type_class();
  return type_class == TypeClass::time || type_class == TypeClass::time_of_day ||
         type_class == TypeClass::interval;
}

constexpr std::array<std::string_view, 5> kBitOperators = {"&", "|", "#", "<<", ">>"};

// Whether it may stand for an object of the catalog.
bool is_identity(const Type& type) {
  return type.type_class() == TypeClass::oid || type.is_integer();
}

// The type to which the operands of a comparison or a calculation go, if there is one without an explicit
// cast.
std::optional<TypeId> operand_type(const Type& left, const Type& right) {
  if (left.id == right.id) return left.id;
  if (left.is_number() && right.is_number()) {
    const TypeId higher = rank(left.id) > rank(right.id) ? left.id : right.id;
    // Only two of them are compared as real.
    return higher == TypeId::float4 ? TypeId::float8 : higher;
  }
  if (left.is_string() && right.is_string()) {
    // char(n) and varchar compare as char(n), without regard to trailing blanks; text takes precedence over
    // both.
    const bool padded = left.id == TypeId::bpchar || right.id == TypeId::bpchar;
    return padded && left.id != TypeId::text && right.id != TypeId::text ? TypeId::bpchar : TypeId::text;
  }
  if (left.type_class() == TypeClass::time && right.type_class() == TypeClass::time) {
    const bool zone = left.id == TypeId::timestamptz || right.id == TypeId::timestamptz;
    return zone ? TypeId::timestamptz : TypeId::timestamp;
  }
  if (can_cast(left.id, TypeId::timetz, Coercion::implicit) &&
      can_cast(right.id, TypeId::timetz, Coercion::implicit))
    return TypeId::timetz;
  if (can_cast(left.id, TypeId::interval, Coercion::implicit) &&
      can_cast(right.id, TypeId::interval, Coercion::implicit))
    return TypeId::interval;
  // Objects of the catalog compare by their identities.
  if (is_identity(left) && is_identity(right)) return TypeId::oid;
  return std::nullopt;
}

// PostgreSQL's category of types that have none of their own.
bool is_other(const Type& type) {
  return type.type_class() == TypeClass::bytes || type.id == TypeId::json || type.id == TypeId::jsonb;
}

bool is_text(const Type& type) {
  return type.is_string() && type.id != TypeId::json;
}

bool same_category(const Type& left, const Type& right) {
  if (is_other(left) || is_other(right)) return is_other(left) && is_other(right);
  const auto is_moment = [](const Type& type) {
    return type.type_class() == TypeClass::time || type.type_class() == TypeClass::time_of_day;
  };
  if (is_moment(left) && is_moment(right)) return true;
  return left.type_class() == right.type_class() || (left.is_number() && right.is_number()) ||
         (is_identity(left) && is_identity(right));
}

}  // namespace

std::optional<char> comparison_operator(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, char>, 6> kOperators = {
      {{"=", '='}, {"<>", '!'}, {"<", '<'}, {">", '>'}, {"<=", 'l'}, {">=", 'g'}}};
  for (const auto& [text, op] : kOperators) {
    if (text == name) return op;
  }
  return std::nullopt;
}

TypeId literal_type(const Type& other) {
  if (other.is_catalog_object()) return TypeId::oid;
  return other.id == TypeId::varchar ? TypeId::text : other.id;
}

Status ExpressionBinder::unify(ExprPtr& left, ExprPtr& right, std::string_view operator_name) {
  if (left->type.id == TypeId::json || right->type.id == TypeId::json)
    return no_operator(operator_name, left->type, right->type);
  if (left->type.id == TypeId::unknown && right->type.id == TypeId::unknown) {
    NAMDB_SQL_CHECK(decide_unknown(left));
    NAMDB_SQL_CHECK(decide_unknown(right));
  }
  if (left->type.id == TypeId::unknown)
    NAMDB_SQL_CHECK(coerce(left, {literal_type(right->type)}, Coercion::implicit));
  if (right->type.id == TypeId::unknown)
    NAMDB_SQL_CHECK(coerce(right, {literal_type(left->type)}, Coercion::implicit));
  const std::optional<TypeId> type = operand_type(left->type, right->type);
  if (!type) return no_operator(operator_name, left->type, right->type);
  // Integers of any width compare as they are.
  if (left->type.is_integer() && right->type.is_integer()) return {};
  for (ExprPtr* operand : {&left, &right}) {
    const bool is_date = (*operand)->type.id == TypeId::date && *type != TypeId::date;
    NAMDB_SQL_CHECK(coerce(*operand, {*type}, Coercion::implicit));
    if (is_date && (*operand)->kind == ExprKind::cast) (*operand)->op = kComparedDate;
  }
  return {};
}

// PostgreSQL's rule for CASE, COALESCE and their like: the first type stays unless another one takes
// precedence.
Status ExpressionBinder::unify_all(std::span<ExprPtr* const> exprs, std::string_view construct, Type& type) {
  type = {};
  for (const ExprPtr* expr : exprs) {
    const Type& next = (*expr)->type;
    if (next.id == TypeId::unknown || next.id == type.id) continue;
    if (type.id == TypeId::unknown) {
      type.id = next.id;
    } else if (!same_category(type, next)) {
      return Status(ErrorCode::datatype_mismatch, std::string(construct) + " types " +
                                                      std::string(type_name(type.id)) + " and " +
                                                      std::string(type_name(next.id)) + " cannot be matched");
    } else if (!is_preferred(type.id) && can_cast(type.id, next.id, Coercion::implicit) &&
               !can_cast(next.id, type.id, Coercion::implicit)) {
      type.id = next.id;
    }
  }
  if (type.id == TypeId::unknown) type = {TypeId::text};
  // The result has a modifier only if all values have the same.
  bool same_modifier = true;
  for (const ExprPtr* expr : exprs) same_modifier = same_modifier && (*expr)->type == (*exprs[0])->type;
  if (same_modifier && (*exprs[0])->type.id == type.id) type.modifier = (*exprs[0])->type.modifier;
  for (const ExprPtr* expr : exprs) {
    if (can_cast((*expr)->type.id, type.id, Coercion::implicit)) continue;
    return Status(ErrorCode::cannot_coerce,
                  std::string(construct) + (construct == "CASE" ? "/WHEN" : "") + " could not convert type " +
                      std::string(type_name((*expr)->type.id)) + " to " + std::string(type_name(type.id)));
  }
  for (ExprPtr* expr : exprs) {
    // Values that differ only in their modifiers stay as they are.
    if ((*expr)->type.id != type.id) NAMDB_SQL_CHECK(coerce(*expr, {type.id}, Coercion::implicit));
  }
  return {};
}

Result<ExprPtr> ExpressionBinder::bind_operator(const Json& body) {
  NAMDB_SQL_CHECK(only(body, "an operator", {"kind", "name", "lexpr", "rexpr"}));
  const std::string_view kind = text(body, "kind");
  if (kind == "AEXPR_IN") return bind_in(body);
  if (kind == "AEXPR_BETWEEN" || kind == "AEXPR_NOT_BETWEEN")
    return bind_between(body, kind == "AEXPR_NOT_BETWEEN");
  if (kind == "AEXPR_LIKE" || kind == "AEXPR_ILIKE") return bind_like(body);
  if (kind == "AEXPR_NULLIF") return bind_null_if(body);
  // The parser has made a regular expression of its pattern, by similar_to_escape().
  if (kind == "AEXPR_SIMILAR") return bind_like(body);
  if (kind.starts_with("AEXPR_BETWEEN") || kind.starts_with("AEXPR_NOT_BETWEEN"))
    return unsupported("BETWEEN SYMMETRIC");
  if (kind == "AEXPR_OP_ANY" || kind == "AEXPR_OP_ALL") return bind_of_array(body, kind == "AEXPR_OP_ANY");
  const bool distinct = kind == "AEXPR_DISTINCT" || kind == "AEXPR_NOT_DISTINCT";
  if (kind != "AEXPR_OP" && !distinct) return unsupported("operator form " + std::string(kind));
  const std::string_view name = name_in_catalog(list(body, "name"));
  if (name.empty()) return unsupported("an operator of another schema");
  const Json* left_json = find(body, "lexpr");
  const Json* right_json = find(body, "rexpr");
  if (right_json == nullptr) return unsupported("a postfix operator");
  if (left_json == nullptr) return bind_unary(name, *right_json);
  if (is_row(*left_json) || is_row(*right_json))
    return bind_row_operator(kind, name, *left_json, *right_json);
  NAMDB_SQL_ASSIGN(ExprPtr left, bind(*left_json));
  NAMDB_SQL_ASSIGN(ExprPtr right, bind(*right_json));
  if (distinct) {
    return bind_compare(kind == "AEXPR_DISTINCT" ? 'D' : 'N', "=", std::move(left), std::move(right));
  }
  return bind_named_operator(name, std::move(left), std::move(right));
}

Result<ExprPtr> ExpressionBinder::bind_named_operator(std::string_view name, ExprPtr left, ExprPtr right) {
  constexpr std::array<std::string_view, 11> kTableOperators = {"->", "->>", "#>", "#>>", "@>", "<@",
                                                                "?",  "?|",  "?&", "#-",  "&&"};
  const auto may_be_jsonb = [](const Type& type) {
    return type.id == TypeId::jsonb || type.id == TypeId::unknown;
  };
  const bool any_jsonb = left->type.id == TypeId::jsonb || right->type.id == TypeId::jsonb;
  const bool joins_jsonb = any_jsonb && may_be_jsonb(left->type) && may_be_jsonb(right->type);
  if (std::ranges::find(kTableOperators, name) != kTableOperators.end() || (name == "||" && joins_jsonb) ||
      (name == "-" && (left->type.id == TypeId::jsonb ||
                       (left->type.id == TypeId::unknown && right->type.id == TypeId::text_array))))
    return bind_table_operator(name, std::move(left), std::move(right));
  if (name == "||") {
    if (left->type.is_array() || right->type.is_array())
      return bind_array_concat(std::move(left), std::move(right));
    const Type other = left->type.id == TypeId::bytea ? right->type : left->type;
    const bool bytes = (left->type.id == TypeId::bytea || right->type.id == TypeId::bytea) &&
                       (other.id == TypeId::bytea || other.id == TypeId::unknown);
    if (bytes) {
      ExprPtr expr = make_expr(ExprKind::concat, {TypeId::bytea});
      for (ExprPtr* operand : {&left, &right}) {
        NAMDB_SQL_CHECK(coerce(*operand, {TypeId::bytea}, Coercion::implicit));
        expr->args.push_back(std::move(*operand));
      }
      return expr;
    }
    NAMDB_SQL_CHECK(decide_unknown(left));
    NAMDB_SQL_CHECK(decide_unknown(right));
    if (!is_text(left->type) && !is_text(right->type)) return no_operator(name, left->type, right->type);
    ExprPtr expr = make_expr(ExprKind::concat, {TypeId::text});
    for (ExprPtr* operand : {&left, &right}) {
      NAMDB_SQL_CHECK(coerce(*operand, {TypeId::text}, Coercion::assignment));
      expr->args.push_back(std::move(*operand));
    }
    return expr;
  }
  if (const std::optional<char> op = comparison_operator(name))
    return bind_compare(*op, name, std::move(left), std::move(right));
  constexpr std::array<std::pair<std::string_view, char>, 8> kPatterns = {{{"~", '~'},
                                                                           {"!~", '!'},
                                                                           {"~*", '*'},
                                                                           {"!~*", '#'},
                                                                           {"~~", ' '},
                                                                           {"!~~", '!'},
                                                                           {"~~*", ' '},
                                                                           {"!~~*", '!'}}};
  for (const auto& [text, op] : kPatterns) {
    if (text != name) continue;
    if (name.find("~~") == std::string_view::npos)
      return bind_regex(op, name, std::move(left), std::move(right));
    return like_of(op, name, name.ends_with('*'), std::move(left), std::move(right));
  }
  constexpr std::string_view kArithmetic = "+-*/%";
  if (name.size() == 1 && kArithmetic.find(name[0]) != std::string_view::npos)
    return bind_arithmetic(name[0], name, std::move(left), std::move(right));
  if (name == "^") {
    if ((left->type.id != TypeId::unknown && !left->type.is_number()) ||
        (right->type.id != TypeId::unknown && !right->type.is_number()))
      return no_operator(name, left->type, right->type);
    std::vector<ExprPtr> operands;
    operands.push_back(std::move(left));
    operands.push_back(std::move(right));
    return bind_function("power", std::move(operands));
  }
  if (std::ranges::find(kBitOperators, name) != kBitOperators.end())
    return bind_table_operator(name, std::move(left), std::move(right));
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
  if (is_time(left_type) || is_time(right_type))
    return bind_table_operator(name, std::move(left), std::move(right));
  if (left_type.id == TypeId::unknown && right_type.id == TypeId::unknown)
    return not_unique(name, &left_type, right_type);
  const auto calculates = [](const Type& type) { return type.id == TypeId::unknown || type.is_number(); };
  const bool real = left_type.type_class() == TypeClass::real || right_type.type_class() == TypeClass::real;
  if (!calculates(left_type) || !calculates(right_type) || (op == '%' && real))
    return no_operator(name, left_type, right_type);
  NAMDB_SQL_CHECK(unify(left, right, name));
  const Type type{rank(left->type.id) > rank(right->type.id) ? left->type.id : right->type.id};
  ExprPtr expr = make_expr(ExprKind::arithmetic, type, op);
  expr->args.push_back(std::move(left));
  expr->args.push_back(std::move(right));
  return expr;
}

// A literal without a type has the type of the other operand where there is such an operator, as in
// PostgreSQL.
Result<ExprPtr> ExpressionBinder::bind_table_operator(std::string_view name, ExprPtr left, ExprPtr right) {
  const Type left_type = left->type;
  const Type right_type = right == nullptr ? Type() : right->type;
  std::vector<ExprPtr> args;
  args.push_back(std::move(left));
  if (right != nullptr) args.push_back(std::move(right));
  // Arrays of an enumeration are sets of positions.
  const auto of_enumeration = [](const Type& type) { return Type{element_type(type.id)}.is_enumeration(); };
  if (args.size() == 2 && (of_enumeration(left_type) || of_enumeration(right_type))) {
    const Type set = of_enumeration(left_type) ? left_type : right_type;
    for (ExprPtr& arg : args) {
      if (arg->type.id == TypeId::unknown) NAMDB_SQL_CHECK(coerce(arg, set, Coercion::implicit));
      if (arg->type.id != set.id) return no_operator(name, left_type, right_type);
      ExprPtr positions = make_expr(ExprKind::coalesce, {TypeId::int8_array});
      positions->args.push_back(std::move(arg));
      arg = std::move(positions);
    }
  }
  std::vector<TypeId> types;
  for (const ExprPtr& arg : args) types.push_back(arg->type.id);
  std::vector<const Function*> operators = operators_named(name);
  std::erase_if(operators, [&types](const Function* f) { return f->parameters.size() != types.size(); });
  if (std::ranges::find(types, TypeId::unknown) != types.end()) {
    const TypeId known = types.front() == TypeId::unknown ? types.back() : types.front();
    const std::vector<TypeId> same(types.size(), known);
    if (std::ranges::find(operators, same, &Function::parameters) != operators.end()) types = same;
  }
  std::vector<std::span<const TypeId>> candidates;
  for (const Function* candidate : operators) candidates.emplace_back(candidate->parameters);
  const OverloadChoice choice = choose_overload(candidates, types);
  if (choice.outcome == OverloadChoice::Outcome::found) {
    // Arrays are compared as sets with those of the same type only.
    const bool arrays = Type{types.front()}.is_array() && Type{types.back()}.is_array();
    if (arrays && types.front() != types.back()) return no_operator(name, left_type, right_type);
    return make_call(*operators[choice.index], std::move(args));
  }
  if (args.size() == 1) return no_unary_operator(name, left_type);
  return choice.outcome == OverloadChoice::Outcome::ambiguous ? not_unique(name, &left_type, right_type)
                                                              : no_operator(name, left_type, right_type);
}

Result<ExprPtr> ExpressionBinder::bind_unary(std::string_view name, const Json& operand_json) {
  NAMDB_SQL_ASSIGN(ExprPtr operand, bind(operand_json));
  if (name == "~" && operand->type.is_number()) return bind_table_operator(name, std::move(operand), nullptr);
  if (name != "-" && name != "+") return unsupported("operator " + std::string(name));
  if (operand->type.id == TypeId::unknown && name == "-") return not_unique(name, nullptr, operand->type);
  if (operand->type.id == TypeId::unknown)
    NAMDB_SQL_CHECK(coerce(operand, {TypeId::float8}, Coercion::implicit));
  if (name == "-" && is_time(operand->type)) return bind_table_operator(name, std::move(operand), nullptr);
  if (!operand->type.is_number()) return no_unary_operator(name, operand->type);
  if (name == "+" && operand->type.modifier == -1) return operand;
  if (name == "+") {
    // The same value, without the precision of its column.
    ExprPtr same_value = make_expr(ExprKind::coalesce, {operand->type.id});
    same_value->args.push_back(std::move(operand));
    return same_value;
  }
  // 9223372036854775808 alone is not a bigint, its negation is; and -2147483648 is an integer.
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

Result<ExprPtr> ExpressionBinder::bind_like(const Json& body) {
  const std::vector<std::string_view> parts = names(list(body, "name"));
  NAMDB_SQL_ASSIGN(ExprPtr value, bind(*find(body, "lexpr")));
  NAMDB_SQL_ASSIGN(ExprPtr pattern, bind(*find(body, "rexpr")));
  return bind_named_operator(parts.back(), std::move(value), std::move(pattern));
}

Result<ExprPtr> ExpressionBinder::like_of(char op, std::string_view name, bool ignores_case, ExprPtr value,
                                          ExprPtr pattern) {
  const Type value_type = value->type;
  const Type pattern_type = pattern->type;
  NAMDB_SQL_CHECK(decide_unknown(value));
  NAMDB_SQL_CHECK(decide_unknown(pattern));
  if (!is_text(value->type) || !is_text(pattern->type)) return no_operator(name, value_type, pattern_type);
  // The blanks of char(n) are matched; a pattern of that type loses its own.
  if (pattern->type.id == TypeId::bpchar)
    NAMDB_SQL_CHECK(coerce(pattern, {TypeId::text}, Coercion::implicit));
  if (ignores_case) {
    for (ExprPtr* operand : {&value, &pattern}) {
      std::vector<ExprPtr> argument;
      argument.push_back(std::move(*operand));
      NAMDB_SQL_ASSIGN(*operand, bind_function("lower", std::move(argument)));
    }
  }
  ExprPtr expr = make_expr(ExprKind::like, {TypeId::boolean}, op);
  expr->args.push_back(std::move(value));
  expr->args.push_back(std::move(pattern));
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_regex(char op, std::string_view name, ExprPtr left, ExprPtr right) {
  const Type left_type = left->type;
  const Type right_type = right->type;
  NAMDB_SQL_CHECK(decide_unknown(left));
  NAMDB_SQL_CHECK(decide_unknown(right));
  if (!is_text(left->type) || !is_text(right->type)) return no_operator(name, left_type, right_type);
  ExprPtr expr = make_expr(ExprKind::regex, {TypeId::boolean}, op);
  expr->args.push_back(std::move(left));
  expr->args.push_back(std::move(right));
  return expr;
}

// Of two arrays, or of an array and an element.
Result<ExprPtr> ExpressionBinder::bind_array_concat(ExprPtr left, ExprPtr right) {
  Type type = left->type.is_array() ? left->type : right->type;
  const auto element_of = [](const Type& of) { return of.is_array() ? Type{element_type(of.id)} : of; };
  // Elements of both have one type, the wider one.
  const auto both = operand_type(element_of(left->type), element_of(right->type));
  const std::optional<TypeId> wider = both ? array_type(*both) : std::nullopt;
  if (wider && *wider != type.id) type = {*wider};
  const Type element{element_type(type.id)};
  for (ExprPtr* operand : {&left, &right}) {
    // A literal is an array, as in PostgreSQL.
    const bool is_array = (*operand)->type.is_array() || (*operand)->type.id == TypeId::unknown;
    if (!can_cast((*operand)->type.id, is_array ? type.id : element.id, Coercion::implicit))
      return no_operator("||", left->type, right->type);
    NAMDB_SQL_CHECK(coerce(*operand, is_array ? type : element, Coercion::implicit));
  }
  ExprPtr expr = make_expr(ExprKind::array_concat, type);
  expr->args.push_back(std::move(left));
  expr->args.push_back(std::move(right));
  return expr;
}

}  // namespace namdb::sql
