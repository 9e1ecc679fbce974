// GROUP BY, HAVING and DISTINCT.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/expression/subquery.h"

namespace namdb::sql {
namespace {

bool has_aggregate(const Expr& expr) {
  return expr.kind == ExprKind::aggregate ||
         std::ranges::any_of(expr.args, [](const ExprPtr& argument) { return has_aggregate(*argument); });
}

Status no_aggregates() {
  return Status(ErrorCode::grouping_error, "aggregate functions are not allowed in GROUP BY");
}

// An item of GROUP BY: an output column's position, a column of the tables, the name of an output column, or
// any expression.
Result<ExprPtr> bind_group(ExpressionBinder& expressions, const Json& item, const SelectPlan& select,
                           const std::vector<ResultColumn>& columns) {
  const Node e = node(item);
  if (e.kind == "GroupingSet") return unsupported("GROUPING SETS, ROLLUP and CUBE");
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

// Makes expressions over rows of the tables ones over groups.
class GroupReader {
 public:
  GroupReader(const Scope& scope, const SelectPlan& select, std::vector<ExprPtr>& groups)
      : scope_(scope), select_(select), groups_(groups) {}

  Status read(ExprPtr& expr) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (!same(*expr, *groups_[i])) continue;
      ExprPtr column = make_expr(ExprKind::column, expr->type);
      column->index = static_cast<std::uint32_t>(i);
      expr = std::move(column);
      return {};
    }
    if (expr->kind == ExprKind::column) {
      if (!has_key_of(expr->index)) return refuse(expr->index);
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

  Status refuse(std::uint32_t column) const {
    const std::string name =
        "column \"" + scope_.relation_of(column).name + "." + scope_.columns[column].name + "\"";
    if (in_subquery_)
      return Status(ErrorCode::grouping_error, "subquery uses ungrouped " + name + " from outer query");
    return Status(ErrorCode::grouping_error,
                  name + " must appear in the GROUP BY clause or be used in an aggregate function");
  }

  const Scope& scope_;
  const SelectPlan& select_;
  std::vector<ExprPtr>& groups_;
  bool in_subquery_ = false;
};

Status bind_distinct(const Json& body, SelectPlan& select) {
  const Json* const distinct = find(body, "distinctClause");
  if (distinct == nullptr) return {};
  // DISTINCT without ON is a list of one empty node.
  for (const Json& item : *distinct) {
    if (!item.empty()) return unsupported("DISTINCT ON");
  }
  select.distinct = true;
  for (const OrderItem& order : select.order) {
    const bool is_target = std::ranges::any_of(
        select.targets, [&order](const ExprPtr& target) { return same(*target, *order.value); });
    if (!is_target) {
      return Status(ErrorCode::invalid_column_reference,
                    "for SELECT DISTINCT, ORDER BY expressions must appear in select list");
    }
  }
  return {};
}

}  // namespace

Status bind_groups(ExpressionBinder& expressions, const Json& body, ErrorPlace* place, SelectPlan& select,
                   const std::vector<ResultColumn>& columns) {
  NAMDB_SQL_CHECK(bind_distinct(body, select));
  expressions.set_aggregates(nullptr, "GROUP BY");
  for (const Json& item : list(body, "groupClause")) {
    Result<ExprPtr> group = bind_group(expressions, item, select, columns);
    if (group.ok() && has_aggregate(**group)) group = no_aggregates();
    if (!group.ok())
      return node(item).body == nullptr ? group.status() : located(place, *node(item).body, group.status());
    NAMDB_SQL_CHECK(expressions.decide_unknown(*group));
    select.groups.push_back(std::move(group).value());
  }
  if (const Json* having = find(body, "havingClause")) {
    expressions.set_aggregates(&select.aggregates, "HAVING");
    NAMDB_SQL_ASSIGN(select.having, expressions.bind_condition(*having, "HAVING"));
  }
  select.grouped = !select.aggregates.empty() || !select.groups.empty() || select.having != nullptr;
  if (!select.grouped) return {};
  GroupReader reader(expressions.scope(), select, select.groups);
  for (ExprPtr& target : select.targets) NAMDB_SQL_CHECK(reader.read(target));
  if (select.having != nullptr) NAMDB_SQL_CHECK(reader.read(select.having));
  for (OrderItem& order : select.order) NAMDB_SQL_CHECK(reader.read(order.value));
  return {};
}

}  // namespace namdb::sql
