#include "compute/sql/plan/join_order.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "compute/sql/plan/conditions.h"
#include "compute/sql/plan/index_path.h"
#include "compute/sql/plan/key_path.h"

namespace namdb::sql {
namespace {

bool any_has_column(const std::vector<std::vector<ExprPtr>>& lists) {
  return std::ranges::any_of(lists, [](const std::vector<ExprPtr>& list) {
    return std::ranges::any_of(list,
                               [](const ExprPtr& expr) { return expr != nullptr && contains_column(*expr); });
  });
}

bool path_depends_on_row(const IndexPath& path) {
  const auto has_column = [](const ExprPtr& expr) { return expr != nullptr && contains_column(*expr); };
  return any_has_column(path.equal) || std::ranges::any_of(path.ranges, [&](const IndexPath::Range& range) {
           return has_column(range.low) || has_column(range.high);
         });
}

// The two sides of a condition that is an equality between rows: of the tables before, and of the table.
struct RowEquality {
  const ExprPtr* outer = nullptr;
  const ExprPtr* own = nullptr;
};

class JoinOrder {
 public:
  JoinOrder(std::vector<JoinTable> tables, std::vector<ExprPtr> conditions)
      : tables_(std::move(tables)), conditions_(std::move(conditions)), plan_(std::make_unique<JoinPlan>()) {
    std::size_t columns = 0;
    for (const JoinTable& table : tables_)
      columns = std::max<std::size_t>(columns, table.first_column + table.columns);
    known_.resize(columns);
  }

  std::unique_ptr<JoinPlan> run() {
    while (!tables_.empty()) {
      std::size_t best = 0;
      int best_score = -1;
      for (std::size_t i = 0; i < tables_.size(); ++i) {
        const int here = score(tables_[i]);
        if (here <= best_score) continue;
        best = i;
        best_score = here;
      }
      place(best);
    }
    return std::move(plan_);
  }

 private:
  static constexpr int kBeforeAll = 5;

  static bool owns(const JoinTable& table, std::uint32_t column) {
    return column >= table.first_column && column < table.first_column + table.columns;
  }
  // Whether all columns of the expression are known, or of the table.
  bool ready(const Expr& expr, const JoinTable& table) const {
    return all_columns(expr, [&](std::uint32_t column) { return known_[column] || owns(table, column); });
  }
  // Whether it has columns, and all of them are of the table.
  static bool is_own(const Expr& expr, const JoinTable& table) {
    return contains_column(expr) &&
           all_columns(expr, [&](std::uint32_t column) { return owns(table, column); });
  }
  bool is_outer(const Expr& expr) const {
    return contains_column(expr) && all_columns(expr, [&](std::uint32_t column) { return known_[column]; });
  }
  std::optional<RowEquality> equality(const Expr& condition, const JoinTable& table) const {
    if (condition.kind != ExprKind::compare || condition.op != '=' || is_volatile(condition)) return {};
    const Type& left = condition.args[0]->type;
    const Type& right = condition.args[1]->type;
    if (left.id != right.id && !(left.is_integer() && right.is_integer())) return {};
    for (std::size_t side = 0; side < 2; ++side) {
      const ExprPtr& own = condition.args[side];
      const ExprPtr& outer = condition.args[1 - side];
      if (is_own(*own, table) && is_outer(*outer)) return RowEquality{&outer, &own};
    }
    return {};
  }
  // The conditions of a match, as far as they can be evaluated.
  std::vector<const Expr*> usable(const JoinTable& table) const {
    std::vector<const Expr*> all;
    for (const ExprPtr& condition : table.kind != JoinKind::inner ? table.on : conditions_) {
      if (ready(*condition, table)) all.push_back(condition.get());
    }
    return all;
  }
  TableColumns columns(const JoinTable& table) const { return {table.first_column, &known_}; }

  // How its rows would be found; leaves the way in the source.
  JoinMethod find_method(JoinTable& table) const {
    table.source.key.clear();
    table.source.index_path.reset();
    if (table.begins_full) return JoinMethod::first;
    if (depends_on_row(table.source))
      return table.source.lateral.empty() ? JoinMethod::by_function : JoinMethod::by_query;
    const std::vector<const Expr*> conditions = usable(table);
    const bool has_equality = std::ranges::any_of(
        conditions, [&](const Expr* condition) { return equality(*condition, table).has_value(); });
    if (table.source.table != nullptr && table.kind != JoinKind::full) {
      find_key(table.source, conditions, columns(table));
      if (any_has_column(table.source.key)) return JoinMethod::by_key;
      table.source.key.clear();
      find_index_path(table.source, conditions, columns(table), table.indexes, {});
      const IndexPath* const path = table.source.index_path.get();
      if (path != nullptr && path_depends_on_row(*path) && (!path->equal.empty() || !has_equality))
        return JoinMethod::by_index;
      // Its rows come by conditions on the table alone.
      table.source.index_path.reset();
      find_key(table.source, conditions, {table.first_column, nullptr});
      find_index_path(table.source, conditions, {table.first_column, nullptr}, table.indexes, {});
    }
    if (plan_->sources.empty()) return JoinMethod::first;
    return has_equality ? JoinMethod::hash : JoinMethod::all;
  }

  bool arguments_are_known(const JoinTable& table) const {
    bool known = true;
    const auto check = [&](const ExprPtr& argument) {
      known = known && all_columns(*argument, [&](std::uint32_t column) { return known_[column]; });
    };
    if (table.source.function != nullptr) table.source.function->for_each_expression(check);
    std::ranges::for_each(table.source.lateral, check);
    return known;
  }

  // -1: it cannot be the next one.
  int score(JoinTable& table) const {
    // Conditions are about the rows that FULL JOIN has made, so that nothing comes before it.
    if (table.begins_full || table.kind == JoinKind::full)
      return (table.kind == JoinKind::full) == begins_full_ ? kBeforeAll : -1;
    if (begins_full_) return -1;
    if (table.kind == JoinKind::left) {
      const auto is_ready = [&](const ExprPtr& condition) { return ready(*condition, table); };
      if (plan_->sources.empty() || !std::ranges::all_of(table.on, is_ready)) return -1;
    }
    if (!arguments_are_known(table)) return -1;
    switch (find_method(table)) {
      case JoinMethod::by_key:
        return 4;
      case JoinMethod::by_index:
      case JoinMethod::by_function:
      case JoinMethod::by_query:
        return 3;
      case JoinMethod::hash:
        return 2;
      case JoinMethod::all:
        return 0;
      case JoinMethod::first:
        break;
    }
    if (!table.source.key.empty()) return 4;
    if (table.source.index_path != nullptr) return 3;
    return usable(table).empty() ? 1 : 2;
  }

  // Takes out of `conditions` those that can be evaluated with the table's row.
  std::vector<ExprPtr> take_ready(std::vector<ExprPtr>& conditions, const JoinTable& table) const {
    std::vector<ExprPtr> taken;
    std::vector<ExprPtr> left;
    for (ExprPtr& condition : conditions)
      (ready(*condition, table) ? taken : left).push_back(std::move(condition));
    conditions = std::move(left);
    return taken;
  }

  void place(std::size_t position) {
    JoinTable table = std::move(tables_[position]);
    tables_.erase(tables_.begin() + static_cast<std::ptrdiff_t>(position));
    JoinedSource placed;
    placed.kind = table.kind;
    placed.method = find_method(table);
    placed.first_column = table.first_column;
    const bool by_row = placed.method == JoinMethod::by_key || placed.method == JoinMethod::by_index ||
                        placed.method == JoinMethod::by_function || placed.method == JoinMethod::by_query;
    std::vector<ExprPtr> own = std::move(table.own);
    std::vector<ExprPtr> match;
    std::vector<ExprPtr> ready_now;
    if (!table.begins_full)
      ready_now = take_ready(table.kind != JoinKind::inner ? table.on : conditions_, table);
    for (ExprPtr& condition : ready_now) {
      const std::optional<RowEquality> equal = equality(*condition, table);
      const bool before_join = !by_row && table.kind != JoinKind::full && is_own(*condition, table);
      if (placed.method == JoinMethod::first || before_join) {
        own.push_back(std::move(condition));
      } else if (placed.method == JoinMethod::hash && equal) {
        placed.outer_keys.push_back(clone(**equal->outer));
        placed.hash_keys.push_back(clone(**equal->own));
      } else {
        match.push_back(std::move(condition));
      }
    }
    table.source.filter = join_conjuncts(std::move(own));
    placed.match = join_conjuncts(std::move(match));
    if (table.kind != JoinKind::inner) placed.filter = join_conjuncts(take_ready(conditions_, table));
    for (std::uint32_t column = 0; column < table.columns; ++column)
      known_[table.first_column + column] = true;
    placed.source = std::move(table.source);
    plan_->sources.push_back(std::move(placed));
    begins_full_ = table.begins_full;
  }

  std::vector<JoinTable> tables_;    // that are not placed yet
  std::vector<ExprPtr> conditions_;  // likewise
  std::vector<bool> known_;          // the columns of those that are
  bool begins_full_ = false;         // the last one is the left side of FULL JOIN
  std::unique_ptr<JoinPlan> plan_;
};

// Calls `visit` with each expression of the statement that reads rows of tables.
void for_each_expression(SelectPlan& select, const std::function<void(Expr&)>& visit) {
  const auto one = [&visit](const ExprPtr& expr) {
    if (expr != nullptr) visit(*expr);
  };
  const auto list = [&one](const std::vector<ExprPtr>& exprs) { std::ranges::for_each(exprs, one); };
  for (JoinedSource& joined : select.join->sources) {
    std::ranges::for_each(joined.source.key, list);
    one(joined.source.filter);
    if (joined.source.function != nullptr) joined.source.function->for_each_expression(one);
    list(joined.source.lateral);
    if (const IndexPath* const path = joined.source.index_path.get()) {
      path->for_each_expression(one);
    }
    list(joined.outer_keys);
    list(joined.hash_keys);
    one(joined.match);
    one(joined.filter);
  }
  for (const Aggregate& aggregate : select.aggregates) aggregate.for_each_expression(one);
  if (select.grouped) return list(select.groups);
  list(select.targets);
  for (const OrderItem& order : select.order) one(order.value);
}

}  // namespace

bool depends_on_row(const Source& source) {
  bool depends = !source.lateral.empty();
  if (source.function != nullptr)
    source.function->for_each_expression(
        [&depends](const ExprPtr& argument) { depends = depends || contains_column(*argument); });
  return depends;
}

std::unique_ptr<JoinPlan> order_join(std::vector<JoinTable> tables, std::vector<ExprPtr> conditions) {
  return JoinOrder(std::move(tables), std::move(conditions)).run();
}

void assign_slots(SelectPlan& select, const std::vector<std::string>& names) {
  JoinPlan& join = *select.join;
  std::vector<bool> used(names.size());
  for_each_expression(select, [&used](const Expr& expr) {
    for_each_column(expr, [&used](std::uint32_t column) { used[column] = true; });
  });
  std::vector<std::uint32_t> slots(names.size());
  for (std::size_t column = 0; column < names.size(); ++column) {
    if (!used[column]) continue;
    slots[column] = static_cast<std::uint32_t>(join.slots.size());
    join.slots.push_back(names[column]);
  }
  for_each_expression(select, [&slots](Expr& expr) { renumber_columns(expr, slots); });
  std::vector<JoinedSource*> by_column;
  for (JoinedSource& joined : join.sources) by_column.push_back(&joined);
  std::ranges::sort(by_column, {}, &JoinedSource::first_column);
  for (std::size_t i = 0; i < by_column.size(); ++i) {
    const std::uint32_t first = by_column[i]->first_column;
    const std::size_t end = i + 1 < by_column.size() ? by_column[i + 1]->first_column : names.size();
    for (std::uint32_t column = first; column < end; ++column) {
      if (used[column]) by_column[i]->reads.push_back({column - first, slots[column]});
    }
  }
}

}  // namespace namdb::sql
