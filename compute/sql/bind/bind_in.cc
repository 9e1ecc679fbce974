// Comparisons with several values: IN, BETWEEN; and NULLIF.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

ExprPtr negation(ExprPtr condition) {
  ExprPtr expr = make_expr(ExprKind::logical_not, {TypeId::boolean});
  expr->args.push_back(std::move(condition));
  return expr;
}

}  // namespace

Status ExpressionBinder::unify_list(std::span<ExprPtr> exprs) {
  std::vector<ExprPtr*> pointers;
  for (ExprPtr& expr : exprs) pointers.push_back(&expr);
  Type type;
  return unify_all(pointers, "IN", type);
}

Result<ExprPtr> ExpressionBinder::bind_in(const Json& body) {
  const Node items = node(*find(body, "rexpr"));
  if (items.kind != "List") return unsupported(items);
  const std::vector<std::string_view> parts = names(list(body, "name"));
  const bool negated = parts.size() == 1 && parts[0] == "<>";
  const Json& all_items = list(*items.body, "items");
  const bool rows = is_row(*find(body, "lexpr")) || std::ranges::any_of(all_items, is_row);
  NAMDB_SQL_ASSIGN(ExprPtr in, rows ? bind_row_in(body, all_items) : bind_in_list(body, all_items, negated));
  return negated ? negation(std::move(in)) : std::move(in);
}

// An item that depends on the row is compared by itself. PostgreSQL makes one list of one type of all other
// items, if they and the value have a type in common.
Result<ExprPtr> ExpressionBinder::bind_in_list(const Json& body, const Json& items, bool negated) {
  NAMDB_SQL_ASSIGN(ExprPtr value, bind(*find(body, "lexpr")));
  ExprPtr any = make_expr(ExprKind::logical_or, {TypeId::boolean});
  ExprPtr in = make_expr(ExprKind::in_list, {TypeId::boolean});
  in->args.push_back(clone(*value));
  std::vector<ExprPtr> single;
  for (const Json& item : items) {
    NAMDB_SQL_ASSIGN(ExprPtr bound, bind(item));
    (contains_column(*bound) ? single : in->args).push_back(std::move(bound));
  }
  Status one_type =
      in->args.size() > 2 ? unify_list(in->args) : Status(ErrorCode::datatype_mismatch, "there is no list");
  const bool has_no_type = !one_type.ok() && (one_type.code() == ErrorCode::datatype_mismatch ||
                                              one_type.code() == ErrorCode::cannot_coerce);
  if (!one_type.ok() && !has_no_type) return one_type;
  if (one_type.ok()) {
    any->args.push_back(std::move(in));
  } else {
    for (std::size_t i = 1; i < in->args.size(); ++i) single.push_back(std::move(in->args[i]));
  }
  for (ExprPtr& item : single) {
    NAMDB_SQL_ASSIGN(ExprPtr compared,
                     bind_compare('=', negated ? "<>" : "=", clone(*value), std::move(item)));
    any->args.push_back(std::move(compared));
  }
  return any->args.size() == 1 ? std::move(any->args[0]) : std::move(any);
}

Result<ExprPtr> ExpressionBinder::bind_between(const Json& body, bool negated) {
  const Node bounds = node(*find(body, "rexpr"));
  if (bounds.kind != "List" || list(*bounds.body, "items").size() != 2) return unsupported(bounds);
  // In messages: NOT BETWEEN is < or >.
  constexpr std::array<std::array<std::string_view, 2>, 2> kNames = {{{">=", "<="}, {"<", ">"}}};
  ExprPtr both = make_expr(ExprKind::logical_and, {TypeId::boolean});
  for (std::size_t i = 0; i < 2; ++i) {
    NAMDB_SQL_ASSIGN(ExprPtr compared, bind_compared(i == 0 ? 'g' : 'l', kNames[negated ? 1 : 0][i],
                                                     *find(body, "lexpr"), list(*bounds.body, "items")[i]));
    both->args.push_back(std::move(compared));
  }
  return negated ? negation(std::move(both)) : std::move(both);
}

// Its type is the value's in the comparison.
Result<ExprPtr> ExpressionBinder::bind_null_if(const Json& body) {
  NAMDB_SQL_ASSIGN(ExprPtr value, bind(*find(body, "lexpr")));
  NAMDB_SQL_ASSIGN(ExprPtr other, bind(*find(body, "rexpr")));
  ExprPtr original = clone(*value);
  NAMDB_SQL_ASSIGN(ExprPtr compared, bind_compare('=', "=", std::move(value), std::move(other)));
  // timestamp and timestamptz compare without a conversion.
  const bool time = original->type.type_class() == TypeClass::time;
  ExprPtr again = time ? std::move(original) : clone(*compared->args[0]);
  if (again->type.id == TypeId::varchar) NAMDB_SQL_CHECK(coerce(again, {TypeId::text}, Coercion::implicit));
  ExprPtr expr = make_expr(ExprKind::null_if, again->type);
  expr->args.push_back(std::move(again));
  expr->args.push_back(std::move(compared));
  return expr;
}

}  // namespace namdb::sql
