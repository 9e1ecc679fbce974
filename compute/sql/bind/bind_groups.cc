// GROUP BY, HAVING and DISTINCT.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/expression/subquery.h"
#include "compute/sql/plan/window.h"

namespace namdb::sql {
namespace {

bool has_aggregate(const Expr& expr) {
  return expr.kind == ExprKind::aggregate ||
         std::ranges::any_of(expr.args, [](const ExprPtr& argument) { return has_aggregate(*argument); });
}

bool has_window(const Expr& expr) {
  return !all_columns(expr, [](std::uint32_t column) { return column < kFirstWindowColumn; });
}

Status no_aggregates() {
  return Status(ErrorCode::grouping_error, "aggregate functions are not allowed in GROUP BY");
}

// An item of GROUP BY: an output column's position, a column of the tables, the name of an output column, or
// any expression.
Result<ExprPtr> bind_group(ExpressionBinder& expressions, const Json& item, const SelectPlan& select,
                           const std::vector<ResultColumn>& columns) {
  const Node e = node(item);
  if (e.kind == "A_Const") return target_at(*e.body, "GROUP BY", select);
  if (e.kind == "ColumnRef") {
    const std::vector<std::string_view> parts = names(list(*e.body, "fields"));
    const Scope& scope = expressions.scope();
    const bool is_column =
        parts.size() != 1 || std::ranges::count(scope.shown, parts[0], &Scope::Shown::name) != 0;
    if (!is_column) {
      const auto named = std::ranges::find(columns, parts[0], &ResultColumn::name);
      if (named != columns.end())
        return clone(*select.targets[static_cast<std::size_t>(named - columns.begin())]);
    }
  }
  return expressions.bind(item);
}

// GROUP BY as sets of values, which are places in `groups` of the plan.
class GroupSets {
 public:
  using Set = std::vector<std::uint32_t>;

  GroupSets(ExpressionBinder& expressions, ErrorPlace* place, SelectPlan& select,
            const std::vector<ResultColumn>& columns)
      : expressions_(expressions), place_(place), select_(select), columns_(columns) {}

  // Each item of the clause has sets of its own: the clause has all combinations of one of each.
  Status bind(const Json& clause) {
    std::vector<Set> sets(1);
    bool any = false;
    for (const Json& item : clause) {
      any = any || node(item).kind == "GroupingSet";
      NAMDB_SQL_ASSIGN(const std::vector<Set> more, sets_of(item));
      if (sets.size() * more.size() > kMostSets) return too_many();
      std::vector<Set> combined;
      for (const Set& one : sets) {
        for (const Set& other : more) combined.push_back(united({one, other}));
      }
      sets = std::move(combined);
    }
    if (any || !expressions_.grouping_calls().empty()) select_.grouping_sets = std::move(sets);
    return bind_calls();
  }

 private:
  static constexpr std::size_t kMostSets = 4096;
  static constexpr std::size_t kMostOfCube = 12;

  static Status too_many() {
    return Status(ErrorCode::statement_too_complex,
                  "too many grouping sets present (maximum " + std::to_string(kMostSets) + ")");
  }

  static Set united(const std::vector<Set>& sets) {
    Set all;
    for (const Set& set : sets) all.insert(all.end(), set.begin(), set.end());
    std::ranges::sort(all);
    const auto repeated = std::ranges::unique(all);
    all.erase(repeated.begin(), repeated.end());
    return all;
  }

  Result<std::uint32_t> place_of(const Json& item) {
    Result<ExprPtr> group = bind_group(expressions_, item, select_, columns_);
    if (group.ok() && has_aggregate(**group)) group = no_aggregates();
    if (group.ok() && has_window(**group))
      group = Status(ErrorCode::windowing_error, "window functions are not allowed in GROUP BY");
    if (!group.ok())
      return node(item).body == nullptr ? group.status() : located(place_, *node(item).body, group.status());
    NAMDB_SQL_CHECK(expressions_.decide_unknown(*group));
    const auto known =
        std::ranges::find_if(select_.groups, [&group](const ExprPtr& each) { return same(*each, **group); });
    const auto place = static_cast<std::uint32_t>(known - select_.groups.begin());
    if (known == select_.groups.end()) select_.groups.push_back(std::move(group).value());
    return place;
  }

  // A value, or several in parentheses, as one set.
  Result<Set> set_of(const Json& item) {
    Set set;
    const Node e = node(item);
    if (e.kind != "RowExpr") {
      NAMDB_SQL_ASSIGN(const std::uint32_t place, place_of(item));
      return Set{place};
    }
    for (const Json& value : list(*e.body, "args")) {
      NAMDB_SQL_ASSIGN(const std::uint32_t place, place_of(value));
      set.push_back(place);
    }
    return set;
  }

  Result<std::vector<Set>> sets_of(const Json& item) {
    const Node e = node(item);
    if (e.kind != "GroupingSet") {
      NAMDB_SQL_ASSIGN(Set set, set_of(item));
      return std::vector<Set>{std::move(set)};
    }
    const std::string_view kind = text(*e.body, "kind");
    const Json& content = list(*e.body, "content");
    std::vector<Set> sets;
    if (kind == "GROUPING_SET_EMPTY") return std::vector<Set>(1);
    if (kind == "GROUPING_SET_SETS") {
      for (const Json& each : content) {
        NAMDB_SQL_ASSIGN(const std::vector<Set> more, sets_of(each));
        sets.insert(sets.end(), more.begin(), more.end());
        if (sets.size() > kMostSets) return too_many();
      }
      return sets;
    }
    std::vector<Set> parts;
    for (const Json& each : content) {
      NAMDB_SQL_ASSIGN(Set part, set_of(each));
      parts.push_back(std::move(part));
    }
    if (kind == "GROUPING_SET_ROLLUP") {
      for (; !parts.empty(); parts.pop_back()) sets.push_back(united(parts));
      sets.emplace_back();
      return sets;
    }
    if (parts.size() > kMostOfCube)
      return Status(ErrorCode::statement_too_complex,
                    "CUBE is limited to " + std::to_string(kMostOfCube) + " elements");
    for (std::size_t wanted = std::size_t{1} << parts.size(); wanted-- != 0;) {
      std::vector<Set> some;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if ((wanted >> (parts.size() - 1 - i) & 1) != 0) some.push_back(parts[i]);
      }
      sets.push_back(united(some));
    }
    return sets;
  }

  // A bit for each argument, which is set where the group does not have the value.
  Status bind_calls() {
    for (const std::vector<ExprPtr>& call : expressions_.grouping_calls()) {
      Set places;
      for (const ExprPtr& argument : call) {
        const auto known = std::ranges::find_if(
            select_.groups, [&argument](const ExprPtr& each) { return same(*each, *argument); });
        if (known == select_.groups.end()) {
          return Status(ErrorCode::grouping_error,
                        "arguments to GROUPING must be grouping expressions of the associated query level");
        }
        places.push_back(static_cast<std::uint32_t>(known - select_.groups.begin()));
      }
      std::vector<std::int64_t> values;
      for (const Set& set : select_.grouping_sets) {
        std::int64_t value = 0;
        for (const std::uint32_t place : places)
          value = value * 2 + (std::ranges::binary_search(set, place) ? 0 : 1);
        values.push_back(value);
      }
      select_.grouping_values.push_back(std::move(values));
    }
    return {};
  }

  ExpressionBinder& expressions_;
  ErrorPlace* place_;
  SelectPlan& select_;
  const std::vector<ResultColumn>& columns_;
};

bool is_aggregate_call(Node expression) {
  if (expression.kind != "FuncCall" || find(*expression.body, "over") != nullptr) return false;
  const std::vector<std::string_view> parts = names(list(*expression.body, "funcname"));
  return !parts.empty() && is_aggregate(parts.back());
}

bool names_column(const Json& reference, std::string_view relation, std::string_view column) {
  const Json& fields = list(reference, "fields");
  std::vector<std::string_view> parts = names(fields);
  if (parts.size() == fields.size()) {  // no star is the last of them
    if (parts.empty() || parts.back() != column) return false;
    parts.pop_back();
  }
  return parts.empty() || parts.back() == relation;
}

// The first reference to the column in that part of a statement, by itself or by a star, that is not the
// argument of an aggregate; null: there is none.
const Json* find_reference(const Json& part, std::string_view relation, std::string_view column) {
  const Json* first = nullptr;
  std::vector<const Json*> open = {&part};
  while (!open.empty()) {
    const Json& json = *open.back();
    open.pop_back();
    if (!json.is_structured()) continue;
    if (json.is_object() && json.size() == 1) {
      const Node here = node(json);
      if (is_aggregate_call(here)) continue;
      if (here.kind == "ColumnRef" && names_column(*here.body, relation, column) &&
          (first == nullptr || integer(*here.body, "location") < integer(*first, "location")))
        first = here.body;
    }
    for (const Json& child : json) open.push_back(&child);
  }
  return first;
}

// Makes expressions over rows of the tables ones over groups.
class GroupReader {
 public:
  // `body`: of the statement; `place` may be null.
  GroupReader(const Scope& scope, const Json& body, ErrorPlace* place, const SelectPlan& select,
              std::vector<ExprPtr>& groups)
      : scope_(scope), body_(body), place_(place), select_(select), groups_(groups) {}

  Status read(ExprPtr& expr) {
    if (expr->kind == ExprKind::column && expr->index >= kFirstWindowColumn) return {};
    if (expr->kind == ExprKind::column && expr->index >= kFirstGroupingColumn) {
      expr->index += static_cast<std::uint32_t>(groups_.size()) - kFirstGroupingColumn;
      return {};
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (!same(*expr, *groups_[i])) continue;
      ExprPtr column = make_expr(ExprKind::column, expr->type);
      column->index = static_cast<std::uint32_t>(i);
      expr = std::move(column);
      return {};
    }
    if (expr->kind == ExprKind::column) {
      if (!select_.grouping_sets.empty() || !has_key_of(expr->index)) return refuse(expr->index);
      // One row of its table for each group.
      groups_.push_back(clone(*expr));
      expr->index = static_cast<std::uint32_t>(groups_.size() - 1);
      return {};
    }
    if (expr->kind == ExprKind::aggregate) return {};
    const bool was_in_subquery = in_subquery_;
    in_subquery_ = in_subquery_ || is_subquery(*expr);
    for (ExprPtr& argument : expr->args) NAMDB_SQL_CHECK(read(argument));
    in_subquery_ = was_in_subquery;
    return {};
  }

 private:
  // The table of that column; null: it is not stored.
  const storage::Table* table_of(const Scope::Relation& relation) const {
    if (select_.join == nullptr) return select_.source.table.get();
    for (const JoinedSource& joined : select_.join->sources) {
      if (joined.first_column == relation.first_column) return joined.source.table.get();
    }
    return nullptr;
  }

  // Whether the groups have all of the primary key of the column's table.
  bool has_key_of(std::uint32_t column) const {
    const Scope::Relation& relation = scope_.relation_of(column);
    const storage::Table* const table = table_of(relation);
    if (table == nullptr) return false;
    return std::ranges::all_of(table->schema.key(), [&](std::uint32_t key) {
      return std::ranges::any_of(groups_, [&](const ExprPtr& group) {
        return group->kind == ExprKind::column && group->index == relation.first_column + key;
      });
    });
  }

  // Expressions have no places: the first reference to the column is taken for this one.
  void note_place(std::string_view relation, std::string_view column) const {
    if (place_ == nullptr) return;
    for (const char* part : {"targetList", "havingClause", "sortClause", "windowClause"}) {
      const Json* const clause = find(body_, part);
      const Json* const reference = clause == nullptr ? nullptr : find_reference(*clause, relation, column);
      if (reference == nullptr) continue;
      place_->note(*reference);
      return;
    }
  }

  Status refuse(std::uint32_t column) const {
    const std::string& relation = scope_.relation_of(column).name;
    note_place(relation, scope_.columns[column].name);
    const std::string name = "column \"" + relation + "." + scope_.columns[column].name + "\"";
    if (in_subquery_)
      return Status(ErrorCode::grouping_error, "subquery uses ungrouped " + name + " from outer query");
    return Status(ErrorCode::grouping_error,
                  name + " must appear in the GROUP BY clause or be used in an aggregate function");
  }

  const Scope& scope_;
  const Json& body_;
  ErrorPlace* place_;
  const SelectPlan& select_;
  std::vector<ExprPtr>& groups_;
  bool in_subquery_ = false;
};

// DISTINCT ON: its values lead the order, so that rows with equal ones come one behind the other.
Status bind_distinct_on(ExpressionBinder& expressions, const Json& items, ErrorPlace* place,
                        SelectPlan& select, const std::vector<ResultColumn>& columns) {
  std::vector<ExprPtr> values;
  const std::size_t ordered = select.order.size();
  const auto has = [&values](const Expr& expr) {
    return std::ranges::any_of(values, [&expr](const ExprPtr& value) { return same(*value, expr); });
  };
  for (const Json& item : items) {
    Result<ExprPtr> bound = bind_order_value(expressions, item, "DISTINCT ON", select, columns);
    if (!bound.ok()) return located(place, *node(item).body, bound.status());
    NAMDB_SQL_CHECK(expressions.decide_unknown(*bound));
    if (!has(**bound)) values.push_back(std::move(bound).value());
  }
  std::size_t leading = 0;
  while (leading < ordered && has(*select.order[leading].value)) ++leading;
  for (const ExprPtr& value : values) {
    const bool leads =
        std::any_of(select.order.begin(), select.order.begin() + static_cast<std::ptrdiff_t>(leading),
                    [&value](const OrderItem& item) { return same(*item.value, *value); });
    if (leads) continue;
    if (leading < ordered) {
      return located(place, *node(items[0]).body,
                     Status(ErrorCode::invalid_column_reference,
                            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"));
    }
    select.order.push_back({clone(*value), false, false});
  }
  select.distinct_on = leading + (select.order.size() - ordered);
  return {};
}

Status bind_distinct(ExpressionBinder& expressions, const Json& body, ErrorPlace* place, SelectPlan& select,
                     const std::vector<ResultColumn>& columns) {
  const Json* const distinct = find(body, "distinctClause");
  if (distinct == nullptr) return {};
  // DISTINCT without ON is a list of one empty node.
  if (!(*distinct)[0].empty()) return bind_distinct_on(expressions, *distinct, place, select, columns);
  select.distinct = true;
  const Json& items = list(body, "sortClause");
  for (std::size_t i = 0; i < select.order.size(); ++i) {
    const OrderItem& order = select.order[i];
    const bool is_target = std::ranges::any_of(
        select.targets, [&order](const ExprPtr& target) { return same(*target, *order.value); });
    if (!is_target) {
      if (place != nullptr && i < items.size()) place->note_begin(items[i]);
      return Status(ErrorCode::invalid_column_reference,
                    "for SELECT DISTINCT, ORDER BY expressions must appear in select list");
    }
  }
  return {};
}

}  // namespace

Status bind_groups(ExpressionBinder& expressions, const Json& body, ErrorPlace* place, SelectPlan& select,
                   std::span<WindowCall> windows, const std::vector<ResultColumn>& columns) {
  NAMDB_SQL_CHECK(bind_distinct(expressions, body, place, select, columns));
  if (const Json* having = find(body, "havingClause")) {
    expressions.set_aggregates(&select.aggregates, "HAVING");
    NAMDB_SQL_ASSIGN(select.having, expressions.bind_condition(*having, "HAVING"));
  }
  expressions.set_aggregates(nullptr, "GROUP BY");
  NAMDB_SQL_CHECK(GroupSets(expressions, place, select, columns).bind(list(body, "groupClause")));
  select.grouped = !select.aggregates.empty() || !select.groups.empty() || select.having != nullptr ||
                   !select.grouping_sets.empty();
  if (!select.grouped) return {};
  GroupReader reader(expressions.scope(), body, place, select, select.groups);
  for (ExprPtr& target : select.targets) NAMDB_SQL_CHECK(reader.read(target));
  if (select.having != nullptr) NAMDB_SQL_CHECK(reader.read(select.having));
  for (OrderItem& order : select.order) NAMDB_SQL_CHECK(reader.read(order.value));
  Status status;
  for (WindowCall& call : windows) {
    call.for_each_expression([&](ExprPtr& expr) {
      if (!status.ok()) return;
      status = reader.read(expr);
    });
  }
  return status;
}

}  // namespace namdb::sql
