// The query of a SELECT with window functions: its tables and groups become those of a derived table, whose
// columns are the values that the SELECT and its window functions read of them, and those of the calls.
#include <map>
#include <memory>
#include <utility>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/plan/window.h"

namespace namdb::sql {
namespace {

// The values that are read: columns of the tables or groups, and aggregates of the groups.
class ReadValues {
 public:
  void find(const Expr& expr) {
    if (is_read(expr)) {
      if (places_.emplace(key_of(expr), static_cast<std::uint32_t>(values_.size())).second)
        values_.push_back(clone(expr));
      return;
    }
    for (const ExprPtr& argument : expr.args) find(*argument);
  }

  // Makes an expression, whose values were found, one over columns of the derived table.
  void use(Expr& expr) const {
    if (is_read(expr)) {
      expr.index = places_.at(key_of(expr));
      expr.kind = ExprKind::column;
    } else if (expr.kind == ExprKind::column) {
      expr.index += static_cast<std::uint32_t>(values_.size()) - kFirstWindowColumn;
    }
    for (ExprPtr& argument : expr.args) use(*argument);
  }

  std::vector<ExprPtr> take() { return std::move(values_); }

 private:
  using Key = std::pair<ExprKind, std::uint32_t>;
  static Key key_of(const Expr& expr) { return {expr.kind, expr.index}; }
  static bool is_read(const Expr& expr) {
    return expr.kind == ExprKind::aggregate ||
           (expr.kind == ExprKind::column && expr.index < kFirstWindowColumn);
  }

  std::map<Key, std::uint32_t> places_;
  std::vector<ExprPtr> values_;
};

template <typename Visit>
void for_each_reader(SelectPlan& select, std::vector<WindowCall>& windows, Visit&& visit) {
  for (ExprPtr& target : select.targets) visit(*target);
  for (OrderItem& item : select.order) visit(*item.value);
  for (WindowCall& call : windows) call.for_each_expression([&visit](ExprPtr& expr) { visit(*expr); });
}

}  // namespace

void use_windows(const StatementBinder& binder, const Scope& scope, std::vector<WindowCall> windows,
                 SelectPlan& select) {
  ReadValues values;
  for_each_reader(select, windows, [&values](const Expr& expr) { values.find(expr); });
  for_each_reader(select, windows, [&values](Expr& expr) { values.use(expr); });
  auto query = std::make_unique<SelectPlan>();
  query->source = std::exchange(select.source, Source());
  query->join = std::move(select.join);
  query->grouped = std::exchange(select.grouped, false);
  query->groups = std::exchange(select.groups, {});
  query->grouping_sets = std::exchange(select.grouping_sets, {});
  query->grouping_values = std::exchange(select.grouping_values, {});
  query->aggregates = std::exchange(select.aggregates, {});
  query->having = std::move(select.having);
  query->targets = values.take();
  auto table = std::make_shared<DerivedTable>();
  for (const ExprPtr& value : query->targets) table->columns.push_back({"?column?", value->type});
  for (const WindowCall& call : windows) table->columns.push_back({"?column?", call.type});
  find_ways(binder, scope, *query);
  table->query = std::move(query);
  table->windows = std::make_shared<const WindowCalls>(WindowCalls{std::move(windows)});
  select.source.derived = std::move(table);
  select.source.name = "windows";
}

}  // namespace namdb::sql
