#include <algorithm>

#include <nlohmann/json.hpp>
#include <string>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/plan/index_path.h"
#include "compute/sql/plan/window.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {
namespace {

bool is_star(const Json& value) {
  const Node e = node(value);
  if (e.kind != "ColumnRef") return false;
  const Json& fields = list(*e.body, "fields");
  return !fields.empty() && node(fields.back()).kind == "A_Star";
}

ResultColumn result_column(std::string name, const Expr& value, const Scope& scope) {
  ResultColumn column{std::move(name), value.type};
  if (value.kind != ExprKind::column || value.index >= scope.columns.size()) return column;
  column.table = scope.columns[value.index].table;
  column.number = scope.columns[value.index].number;
  return column;
}

Status expand_star(const Json& value, const Scope& scope, std::vector<ExprPtr>& targets,
                   std::vector<ResultColumn>& columns, ErrorPlace* place) {
  const std::vector<std::string_view> parts = names(list(*node(value).body, "fields"));
  if (scope.columns.empty() || parts.size() > 1) {
    return located(place, *node(value).body,
                   Status(ErrorCode::syntax_error, "SELECT * with no tables specified is not valid"));
  }
  const Scope::Relation* const relation = parts.empty() ? nullptr : scope.find(parts[0]);
  if (!parts.empty() && relation == nullptr)
    return located(place, *node(value).body, missing_relation(scope, parts[0]));
  // Of a view they may have another order than in its table.
  if (relation == nullptr || scope.relations.size() == 1) {
    for (const Scope::Shown& shown : scope.shown) {
      targets.push_back(shown_column(scope, shown));
      columns.push_back(result_column(shown.name, *targets.back(), scope));
    }
    return {};
  }
  for (std::uint32_t i = relation->first_column; i < relation->first_column + relation->columns; ++i) {
    if (scope.columns[i].hidden) continue;
    targets.push_back(scope_column(scope, i));
    columns.push_back(result_column(scope.columns[i].name, *targets.back(), scope));
  }
  return {};
}

Status bind_limit(ExpressionBinder& expressions, const Json& body, const char* member,
                  std::string_view clause, ErrorPlace* place, ExprPtr& out) {
  const Json* value = find(body, member);
  if (value == nullptr) return {};
  expressions.set_aggregates(nullptr, clause);
  NAMDB_SQL_ASSIGN(out, expressions.bind(*value));
  if (contains_column(*out)) {
    if (place != nullptr) place->note_begin(*value);
    return Status(ErrorCode::invalid_column_reference,
                  "argument of " + std::string(clause) + " must not contain variables");
  }
  return expressions.coerce(out, {TypeId::int8}, Coercion::assignment);
}

// Whether the rows' order by a column gives the statement's one value: min() or max() of the column.
bool is_end_of_column(const SelectPlan& select) {
  if (!select.grouped || !select.groups.empty() || select.aggregates.size() != 1) return false;
  const Aggregate& aggregate = select.aggregates[0];
  return (aggregate.kind == AggregateKind::minimum || aggregate.kind == AggregateKind::maximum) &&
         aggregate.argument->kind == ExprKind::column;
}

// Chooses the way to the rows of one table, and makes use of the order in which they come.
void find_row_order(SelectPlan& select, std::span<const storage::IndexRef> indexes) {
  if (is_end_of_column(select)) {
    const Aggregate& aggregate = select.aggregates[0];
    std::vector<OrderItem> order(1);
    order[0].value = clone(*aggregate.argument);
    order[0].descending = aggregate.kind == AggregateKind::maximum;
    order[0].nulls_first = order[0].descending;
    select.first_value_decides = find_index_path(select.source, indexes, order);
    return;
  }
  const bool ordered = !select.order.empty() && !select.grouped;
  // The first rows of DISTINCT ON are found by sorting.
  const bool uses_order = ordered && select.distinct_on == 0;
  if (find_index_path(select.source, indexes,
                      uses_order ? std::span<const OrderItem>(select.order) : std::span<const OrderItem>()))
    select.order.clear();
}

}  // namespace

std::vector<std::string> column_names(const Scope& scope) {
  std::vector<std::string> all;
  for (std::uint32_t i = 0; i < scope.columns.size(); ++i)
    all.push_back(scope.relation_of(i).name + "." + scope.columns[i].name);
  return all;
}

Result<ExprPtr> target_at(const Json& constant, const std::string& clause, const SelectPlan& select) {
  const Json* const number = find(constant, "ival");
  if (number == nullptr) return Status(ErrorCode::syntax_error, "non-integer constant in " + clause);
  const std::int64_t position = integer(*number, "ival");
  if (position < 1 || position > static_cast<std::int64_t>(select.targets.size())) {
    return Status(ErrorCode::invalid_column_reference,
                  clause + " position " + std::to_string(position) + " is not in select list");
  }
  return clone(*select.targets[static_cast<std::size_t>(position - 1)]);
}

Result<OrderItem> order_item(const Json& sort) {
  NAMDB_SQL_CHECK(only(sort, "ORDER BY", {"node", "sortby_dir", "sortby_nulls"}));
  const std::string_view direction = text(sort, "sortby_dir");
  const std::string_view nulls = text(sort, "sortby_nulls");
  if (direction == "SORTBY_USING") return unsupported("ORDER BY ... USING");
  OrderItem order;
  order.descending = direction == "SORTBY_DESC";
  order.nulls_first = nulls == "SORTBY_NULLS_FIRST" || (order.descending && nulls != "SORTBY_NULLS_LAST");
  return order;
}

Result<ExprPtr> bind_order_value(ExpressionBinder& expressions, const Json& value, const std::string& clause,
                                 const SelectPlan& select, const std::vector<ResultColumn>& columns) {
  const Node e = node(value);
  if (e.kind == "A_Const") return target_at(*e.body, clause, select);
  if (e.kind == "ColumnRef") {
    const std::vector<std::string_view> parts = names(list(*e.body, "fields"));
    if (parts.size() == 1) {
      const Expr* found = nullptr;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].name != parts[0]) continue;
        const Expr* target = select.targets[i].get();
        const bool same_column = found != nullptr && found->kind == ExprKind::column &&
                                 target->kind == ExprKind::column && found->index == target->index;
        if (found != nullptr && !same_column) {
          return Status(ErrorCode::ambiguous_column,
                        clause + " \"" + std::string(parts[0]) + "\" is ambiguous");
        }
        found = target;
      }
      if (found != nullptr) return clone(*found);
    }
  }
  return expressions.bind(value);
}

Status bind_order(ExpressionBinder& expressions, const Json& body, SelectPlan& select,
                  const std::vector<ResultColumn>& columns, ErrorPlace* place) {
  for (const Json& item : list(body, "sortClause")) {
    const Json& sort = *node(item).body;
    NAMDB_SQL_ASSIGN(OrderItem order, order_item(sort));
    const Json& wanted = *find(sort, "node");
    Result<ExprPtr> bound = bind_order_value(expressions, wanted, "ORDER BY", select, columns);
    if (!bound.ok()) return located(place, *node(wanted).body, bound.status());
    order.value = std::move(bound).value();
    NAMDB_SQL_CHECK(expressions.decide_unknown(order.value));
    select.order.push_back(std::move(order));
  }
  return {};
}

Status bind_targets(ExpressionBinder& expressions, const Json& list, ErrorPlace* place,
                    UnknownColumns unknown, std::vector<ExprPtr>& targets,
                    std::vector<ResultColumn>& columns) {
  for (const Json& item : list) {
    const Json& target = *node(item).body;
    NAMDB_SQL_CHECK(only(target, "a select list", {"name", "val"}));
    const Json& value = *find(target, "val");
    if (is_star(value)) {
      NAMDB_SQL_CHECK(expand_star(value, expressions.scope(), targets, columns, place));
      continue;
    }
    NAMDB_SQL_ASSIGN(ExprPtr expr, expressions.bind(value));
    if (unknown == UnknownColumns::become_text) NAMDB_SQL_CHECK(expressions.decide_unknown(expr));
    std::string name(text(target, "name"));
    if (name.empty()) name = column_name_of(value);
    columns.push_back(result_column(std::move(name), *expr, expressions.scope()));
    targets.push_back(std::move(expr));
  }
  if (columns.size() > 1664)
    return Status(ErrorCode::limit_exceeded, "target lists can have at most 1664 entries");
  return {};
}

Status bind_returning(StatementBinder& binder, ExpressionBinder& expressions, const Json& body,
                      const storage::Table& table, std::vector<ExprPtr>& targets,
                      std::vector<ResultColumn>& columns) {
  const auto reads = std::ranges::count(binder.reads, table.id);
  expressions.set_aggregates(nullptr, "RETURNING");
  NAMDB_SQL_CHECK(bind_targets(expressions, list(body, "returningList"), binder.input.place,
                               UnknownColumns::become_text, targets, columns));
  if (std::ranges::count(binder.reads, table.id) == reads) return {};
  return unsupported("a subquery in RETURNING that reads the changed table");
}

Status bind_limits(ExpressionBinder& expressions, const Json& body, ErrorPlace* place, SelectPlan& select) {
  if (text(body, "limitOption") == "LIMIT_OPTION_WITH_TIES") return unsupported("WITH TIES");
  NAMDB_SQL_CHECK(bind_limit(expressions, body, "limitCount", "LIMIT", place, select.limit));
  return bind_limit(expressions, body, "limitOffset", "OFFSET", place, select.offset);
}

Result<BoundQuery> bind_plain_select(StatementBinder& binder, const Json& body, OuterRows* outer,
                                     UnknownColumns unknown) {
  NAMDB_SQL_CHECK(only(body, "SELECT",
                       {"targetList", "fromClause", "whereClause", "groupClause", "havingClause",
                        "distinctClause", "windowClause", "sortClause", "limitOffset", "limitCount",
                        "limitOption", "op", "all", "withClause", "lockingClause"}));
  BoundQuery query{std::make_unique<SelectPlan>(), {}};
  SelectPlan& select = *query.select;
  ErrorPlace* const place = binder.input.place;
  ExpressionBinder expressions(binder.parameters, binder.input.facts, place);
  expressions.set_query(&binder, outer);
  NAMDB_SQL_CHECK(bind_from(binder, expressions, body, select));
  expressions.set_aggregates(&select.aggregates, "the select list");
  std::vector<WindowCall> windows;
  NAMDB_SQL_CHECK(check_window_names(list(body, "windowClause"), place));
  expressions.set_windows(&windows, &list(body, "windowClause"));
  NAMDB_SQL_CHECK(
      bind_targets(expressions, list(body, "targetList"), place, unknown, select.targets, query.columns));
  NAMDB_SQL_CHECK(bind_order(expressions, body, select, query.columns, place));
  expressions.set_windows(nullptr, nullptr);
  const bool groups = !select.aggregates.empty() || !list(body, "groupClause").empty();
  if (groups && expressions.has_set_calls())
    return unsupported("a function that gives several rows, in a grouped SELECT");
  if (!windows.empty() && expressions.has_set_calls())
    return unsupported("a function that gives several rows, beside a window function");
  if (!windows.empty() && !list(body, "lockingClause").empty())
    return Status(ErrorCode::feature_not_supported, "FOR UPDATE is not allowed with window functions");
  NAMDB_SQL_CHECK(bind_groups(expressions, body, place, select, windows, query.columns));
  NAMDB_SQL_CHECK(bind_limits(expressions, body, place, select));
  NAMDB_SQL_CHECK(bind_locking(binder, expressions, body, select));
  if (select.offset != nullptr && select.locks_without_wait())
    return unsupported("OFFSET with NOWAIT or SKIP LOCKED");
  // PostgreSQL calls functions of the select list for the rows behind ORDER BY and OFFSET only.
  const bool cuts = select.offset != nullptr || (select.limit != nullptr && !select.order.empty());
  if (cuts && std::ranges::any_of(select.targets, [](const ExprPtr& target) { return is_volatile(*target); }))
    binder.calls_read_only = true;
  if (windows.empty()) {
    find_ways(binder, expressions.scope(), select);
  } else {
    use_windows(binder, expressions.scope(), std::move(windows), select);
  }
  return query;
}

void find_ways(const StatementBinder& binder, const Scope& scope, SelectPlan& select) {
  if (select.join != nullptr) {
    assign_slots(select, column_names(scope));
  } else {
    find_row_order(select, indexes_of(binder.input, select.source));
  }
}

Result<Plan> bind_select(StatementBinder& binder, const Json& body) {
  Result<BoundQuery> bound = bind_query(binder, body, nullptr, UnknownColumns::become_text);
  if (!bound.ok()) {
    const ErrorCode code = bound.status().code();
    const bool is_missing = code == ErrorCode::feature_not_supported || code == ErrorCode::undefined_function;
    if (is_missing && is_catalog_completion(body)) return empty_completion(body);
    return bound.status();
  }
  BoundQuery query = std::move(bound).value();
  Plan plan;
  plan.tag = "SELECT";
  plan.columns = std::move(query.columns);
  query.select->gives_id = binder.gives_id;
  query.select->reads_tables = binder.reads_tables;
  query.select->locking_command = binder.locking_command;
  plan.body = std::move(*query.select);
  return plan;
}

}  // namespace namdb::sql
