#include "compute/sql/plan/conditions.h"

namespace namdb::sql {
namespace {

void add_conjuncts(const Expr& filter, std::vector<const Expr*>& out) {
  if (filter.kind != ExprKind::logical_and) {
    out.push_back(&filter);
    return;
  }
  for (const ExprPtr& part : filter.args) add_conjuncts(*part, out);
}

// `integer_column = 1.5` compares as numeric; the column is below a cast that loses nothing.
const Expr& without_cast(const Expr& expr) {
  if (expr.kind != ExprKind::cast || expr.explicit_cast) return expr;
  const Expr& inner = *expr.args[0];
  const bool exact_string =
      inner.type.is_string() && expr.type.id != TypeId::bpchar && inner.type.id != TypeId::bpchar;
  const bool exact_number =
      inner.type.is_integer() && (expr.type.is_integer() || expr.type.id == TypeId::numeric);
  return exact_string || exact_number ? inner : expr;
}

// Whether comparing the column with such a value compares the stored values: then the converted value has a
// place among the column's values. Comparisons that convert the column (integer = 1.5::float8) do not.
bool decides_place(const TableColumns& table, const Expr& column, const Expr& value) {
  // An integer column compared as numeric: one that equals the value exists only if that is whole.
  const Type type = value.type.is_array() ? Type{element_type(value.type.id)} : value.type;
  const bool numeric_for_integer = column.type.is_integer() && type.id == TypeId::numeric;
  return (column.type.type_class() == type.type_class() || numeric_for_integer) && table.knows(value);
}

bool is_column(const Expr& expr, const TableColumns& table, std::uint32_t column) {
  return expr.kind == ExprKind::column && expr.index == table.first + column;
}

}  // namespace

bool TableColumns::knows(const Expr& value) const {
  if (known == nullptr) return is_row_independent(value);
  return !is_volatile(value) && all_columns(value, [this](std::uint32_t column) { return (*known)[column]; });
}

std::vector<const Expr*> conjuncts(const Expr& filter) {
  std::vector<const Expr*> conditions;
  add_conjuncts(filter, conditions);
  return conditions;
}

std::vector<ExprPtr> take_conjuncts(ExprPtr filter) {
  std::vector<ExprPtr> conditions;
  if (filter == nullptr) return conditions;
  if (filter->kind != ExprKind::logical_and) {
    conditions.push_back(std::move(filter));
    return conditions;
  }
  for (ExprPtr& part : filter->args) {
    for (ExprPtr& condition : take_conjuncts(std::move(part))) conditions.push_back(std::move(condition));
  }
  return conditions;
}

ExprPtr join_conjuncts(std::vector<ExprPtr> conditions) {
  if (conditions.empty()) return nullptr;
  if (conditions.size() == 1) return std::move(conditions.front());
  ExprPtr all = make_expr(ExprKind::logical_and, {TypeId::boolean});
  all->args = std::move(conditions);
  return all;
}

std::vector<const Expr*> equal_values(const Expr& condition, const TableColumns& table,
                                      std::uint32_t column) {
  if (condition.kind == ExprKind::compare && condition.op == '=') {
    for (std::size_t side = 0; side < 2; ++side) {
      const Expr& left = without_cast(*condition.args[side]);
      const Expr& right = *condition.args[1 - side];
      if (is_column(left, table, column) && decides_place(table, left, right)) return {&right};
    }
  } else if (condition.kind == ExprKind::any_of_array && condition.op == '=') {
    const Expr& left = without_cast(*condition.args[0]);
    if (is_column(left, table, column) && decides_place(table, left, *condition.args[1]))
      return {condition.args[1].get()};
  } else if (condition.kind == ExprKind::logical_or) {
    // column = 1 OR column IN (2, 3)
    std::vector<const Expr*> values;
    for (const ExprPtr& either : condition.args) {
      const std::vector<const Expr*> more = equal_values(*either, table, column);
      if (more.empty() || more[0]->type.is_array()) return {};
      values.insert(values.end(), more.begin(), more.end());
    }
    return values;
  } else if (condition.kind == ExprKind::in_list) {
    const Expr& left = without_cast(*condition.args[0]);
    if (!is_column(left, table, column)) return {};
    std::vector<const Expr*> values;
    for (std::size_t i = 1; i < condition.args.size(); ++i) {
      if (!decides_place(table, left, *condition.args[i])) return {};
      values.push_back(condition.args[i].get());
    }
    return values;
  }
  return {};
}

bool is_list(const std::vector<const Expr*>& values) {
  return values.size() > 1 || (values.size() == 1 && values[0] != nullptr && values[0]->type.is_array());
}

bool restricts_more(const std::vector<const Expr*>& values, const std::vector<const Expr*>& others) {
  if (values.empty() || others.empty()) return !values.empty();
  return is_list(values) == is_list(others) ? values.size() < others.size() : is_list(others);
}

bool is_null_test(const Expr& condition, const TableColumns& table, std::uint32_t column) {
  return condition.kind == ExprKind::is_null && is_column(*condition.args[0], table, column);
}

std::optional<Bound> bound_of(const Expr& condition, const TableColumns& table, std::uint32_t column) {
  if (condition.kind != ExprKind::compare) return std::nullopt;
  const bool inclusive = condition.op == 'l' || condition.op == 'g';
  const bool greater = condition.op == '>' || condition.op == 'g';
  if (!greater && condition.op != '<' && condition.op != 'l') return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    const Expr& left = without_cast(*condition.args[side]);
    const Expr& right = *condition.args[1 - side];
    if (is_column(left, table, column) && decides_place(table, left, right))
      return Bound{&right, inclusive, greater == (side == 0)};
  }
  return std::nullopt;
}

std::vector<ValueRange> ranges_of(const Expr& condition, const TableColumns& table, std::uint32_t column) {
  if (condition.kind == ExprKind::logical_or) {
    std::vector<ValueRange> ranges;
    for (const ExprPtr& either : condition.args) {
      const std::vector<ValueRange> more = ranges_of(*either, table, column);
      if (more.empty()) return {};
      ranges.insert(ranges.end(), more.begin(), more.end());
    }
    return ranges;
  }
  ValueRange range;
  for (const Expr* part : conjuncts(condition)) {
    if (const std::optional<Bound> bound = bound_of(*part, table, column)) {
      std::optional<Bound>& side = bound->is_low ? range.low : range.high;
      if (!side) side = bound;
      continue;
    }
    const std::vector<const Expr*> values = equal_values(*part, table, column);
    if (values.size() != 1 || is_list(values) || range.low || range.high) continue;
    range.low = Bound{values[0], true, true};
    range.high = Bound{values[0], true, false};
  }
  if (!range.low && !range.high) return {};
  return {range};
}

}  // namespace namdb::sql
