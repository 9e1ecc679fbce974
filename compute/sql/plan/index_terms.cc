#include "compute/sql/plan/index_terms.h"

#include <algorithm>
#include <utility>

#include "compute/sql/expression/expression_text.h"

namespace namdb::sql {
namespace {

// `active = true` is `active`.
std::string condition_key(const Expr& condition, std::uint32_t first) {
  if (condition.kind == ExprKind::compare && condition.op == '=') {
    for (std::size_t side = 0; side < 2; ++side) {
      const Expr& value = *condition.args[side];
      if (value.kind != ExprKind::constant || value.type.id != TypeId::boolean || value.value.null) continue;
      const std::string other = expression_key(*condition.args[1 - side], first);
      return value.value.is_true() ? other : "(NOT " + other + ")";
    }
  }
  return expression_key(condition, first);
}

const Expr& below_casts(const Expr& expr) {
  return expr.kind == ExprKind::cast ? below_casts(*expr.args[0]) : expr;
}

// Whether the condition is not true where that value is NULL.
bool refuses_null(const Expr& condition, const std::string& value, std::uint32_t first) {
  const auto is_value = [&](const Expr& expr) {
    return expression_key(expr, first) == value || expression_key(below_casts(expr), first) == value;
  };
  switch (condition.kind) {
    case ExprKind::compare:
      return condition.op != 'D' && condition.op != 'N' &&
             (is_value(*condition.args[0]) || is_value(*condition.args[1]));
    case ExprKind::in_list:
    case ExprKind::any_of_array:
    case ExprKind::like:
    case ExprKind::regex:
      return is_value(*condition.args[0]);
    default:
      return false;
  }
}

class Replacement {
 public:
  Replacement(const storage::Index& index, std::span<const IndexExpression> expressions, std::uint32_t first)
      : first_(first) {
    for (const layout::IndexColumn& part : index.shape.columns()) {
      const auto found = std::ranges::find(expressions, part.column, &IndexExpression::column);
      if (found != expressions.end() && found->value->kind != ExprKind::constant)
        columns_.push_back({&*found, expression_key(*found->value, 0)});
    }
  }

  // All that is below, too.
  void replace(ExprPtr& expr) const {
    for (const Column& column : columns_) {
      if (!can_be(*expr, *column.expression->value) || expression_key(*expr, first_) != column.key) continue;
      ExprPtr reference = make_expr(ExprKind::column, expr->type);
      reference->index = first_ + column.expression->column;
      expr = std::move(reference);
      return;
    }
    for (ExprPtr& argument : expr->args) replace(argument);
  }

 private:
  struct Column {
    const IndexExpression* expression;
    std::string key;
  };

  static bool can_be(const Expr& expr, const Expr& value) {
    return expr.kind == value.kind || expr.kind == ExprKind::in_list;
  }

  std::uint32_t first_;
  std::vector<Column> columns_;
};

}  // namespace

std::string expression_key(const Expr& expr, std::uint32_t first) {
  std::uint32_t columns = 0;
  for_each_column(expr, [&](std::uint32_t column) { columns = std::max(columns, column + 1); });
  std::vector<std::string> names(columns);
  // Those before, and of tables behind, are not the table's: their numbers are not.
  for (std::uint32_t i = 0; i < columns; ++i)
    names[i] = i < first ? "before" + std::to_string(i) : "#" + std::to_string(i - first);
  return expression_text(expr, names);
}

bool implies(std::span<const Expr* const> conditions, std::span<const ExprPtr> predicate,
             std::uint32_t first) {
  return std::ranges::all_of(predicate, [&](const ExprPtr& wanted) {
    const std::string key = condition_key(*wanted, 0);
    const bool is_not_null = wanted->kind == ExprKind::is_not_null;
    const std::string value = is_not_null ? expression_key(*wanted->args[0], 0) : std::string();
    return std::ranges::any_of(conditions, [&](const Expr* condition) {
      return condition_key(*condition, first) == key ||
             (is_not_null && refuses_null(*condition, value, first));
    });
  });
}

std::optional<IndexTerms> terms_of(const storage::Index& index, const storage::Table& table,
                                   std::span<const IndexExpression> expressions,
                                   std::span<const Expr* const> conditions, std::uint32_t first,
                                   std::span<const OrderItem> order) {
  IndexTerms terms;
  for (const layout::IndexColumn& part : index.shape.columns()) {
    const auto found = std::ranges::find(expressions, part.column, &IndexExpression::column);
    if (found == expressions.end() || found->predicate.empty()) continue;
    if (!implies(conditions, found->predicate, first)) return std::nullopt;
    const std::string value = expression_key(*found->value, 0);
    const bool is_tested = std::ranges::any_of(found->predicate, [&](const ExprPtr& condition) {
      return (condition->kind == ExprKind::is_not_null && expression_key(*condition->args[0], 0) == value) ||
             refuses_null(*condition, value, 0);
    });
    const bool is_constant = found->value->kind == ExprKind::constant && !found->value->value.null;
    const bool is_declared =
        found->value->kind == ExprKind::column && table.schema.columns()[found->value->index].not_null;
    terms.part_is_not_null = is_tested || is_declared || is_constant;
  }
  const Replacement replacement(index, expressions, first);
  for (const Expr* condition : conditions) {
    ExprPtr& made = terms.made.emplace_back(clone(*condition));
    replacement.replace(made);
    terms.conditions.push_back(made.get());
  }
  for (const OrderItem& item : order) {
    OrderItem& made = terms.order.emplace_back();
    made.value = clone(*item.value);
    made.descending = item.descending;
    made.nulls_first = item.nulls_first;
    replacement.replace(made.value);
  }
  return terms;
}

}  // namespace namdb::sql
