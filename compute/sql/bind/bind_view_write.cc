#include "compute/sql/bind/bind_view_write.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/plan/plain_select.h"

namespace namdb::sql {
namespace {

// Its columns are different columns of one table.
bool shows_one_table(const SelectPlan& select) {
  if (select.source.table == nullptr || !is_plain(select)) return false;
  for (std::size_t i = 0; i < select.targets.size(); ++i) {
    const Expr& target = *select.targets[i];
    if (target.kind != ExprKind::column) return false;
    for (std::size_t other = 0; other < i; ++other) {
      if (select.targets[other]->index == target.index) return false;
    }
  }
  return true;
}

bool has_window_call(const Json& targets) {
  std::vector<const Json*> open = {&targets};
  while (!open.empty()) {
    const Json& json = *open.back();
    open.pop_back();
    if (!json.is_structured()) continue;
    if (json.is_object() && json.contains("over")) return true;
    for (const Json& child : json) open.push_back(&child);
  }
  return false;
}

// Why the view cannot be changed, in PostgreSQL's words and order; empty: for a reason that it does not have.
std::string why_not_changeable(const View& view, const SelectPlan& select) {
  const auto parsed = parse_sql(view.query);
  const auto* const tree = std::get_if<SyntaxTree>(&parsed);
  if (tree == nullptr || tree->statement_count() != 1) return {};
  const Json& body = *tree->statement(0).body;
  const auto views = [](std::string_view those) {
    return "Views " + std::string(those) + " are not automatically updatable.";
  };
  if (find(body, "distinctClause") != nullptr) return views("containing DISTINCT");
  if (find(body, "groupClause") != nullptr) return views("containing GROUP BY");
  if (find(body, "havingClause") != nullptr) return views("containing HAVING");
  if (text(body, "op") != "SETOP_NONE") return views("containing UNION, INTERSECT, or EXCEPT");
  if (find(body, "withClause") != nullptr) return views("containing WITH");
  if (find(body, "limitCount") != nullptr || find(body, "limitOffset") != nullptr)
    return views("containing LIMIT or OFFSET");
  if (select.grouped) return views("that return aggregate functions");
  if (has_window_call(list(body, "targetList"))) return views("that return window functions");
  const Json& from = list(body, "fromClause");
  if (from.size() != 1 || !from.front().contains("RangeVar"))
    return views("that do not select from a single table or view");
  const auto of_table = [](const ExprPtr& target) { return target->kind == ExprKind::column; };
  if (std::ranges::none_of(select.targets, of_table)) return views("that have no updatable columns");
  if (std::ranges::all_of(select.targets, of_table)) return {};
  return "View columns that are not columns of their base relation are not updatable.";
}

// The scope of the table, with the names of the view's columns.
Scope scope_of_view(const View& view, const Source& source, const std::vector<std::uint32_t>& columns) {
  Scope scope = scope_of(source);
  for (Scope::Column& column : scope.columns) {
    column.name.clear();
    column.hidden = true;
  }
  scope.shown.clear();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    Scope::Column& column = scope.columns[columns[i]];
    column.name = view.columns[i].name;
    column.hidden = false;
    scope.shown.push_back({column.name, columns[i], column.type});
  }
  return scope;
}

Json target_of(std::string_view name) {
  return {{"ResTarget", {{"name", std::string(name)}}}};
}

// Gives the targets the names of the table's columns.
Status rename_targets(const View& view, const ChangedView& changed, ErrorPlace* place, Json& targets) {
  for (Json& item : targets) {
    Json& target = item["ResTarget"];
    const std::string_view name = text(target, "name");
    const auto column = std::ranges::find(view.columns, name, &View::Column::name);
    if (column == view.columns.end()) {
      return located(
          place, target,
          Status(ErrorCode::undefined_column,
                 "column \"" + std::string(name) + "\" of relation \"" + view.name + "\" does not exist"));
    }
    const std::uint32_t own = changed.columns[static_cast<std::size_t>(column - view.columns.begin())];
    target["name"] = changed.source.table->schema.columns()[own].name;
  }
  return {};
}

// The user needs the privilege of the view, and the view's owner that of what it shows.
void require_through(StatementBinder& binder, const std::string& view, const storage::Table& table,
                     std::vector<RequiredRight> rights, storage::Privileges privilege, bool is_read) {
  const storage::SecuredObject base{storage::ObjectKind::table, table.id, {}};
  for (RequiredRight& right : rights) {
    const bool is_own = right.through_view.empty() &&
                        right.object == storage::SecuredObject{storage::ObjectKind::view, 0, view};
    if (is_own) right.privileges = privilege | (is_read ? storage::kSelectPrivilege : 0);
    const bool is_shown = right.object == base || right.object.kind == storage::ObjectKind::view;
    if (!is_own && is_shown) right.privileges |= privilege;
  }
  require(binder, rights);
}

}  // namespace

Result<std::optional<ChangedView>> bind_changed_view(StatementBinder& binder, const Json& body,
                                                     const ViewChange& change) {
  const Json& range_var = *find(body, "relation");
  const std::string_view name = text(range_var, "relname");
  const auto found = binder.input.views.find(name);
  if (binder.input.tables.contains(name) || found == binder.input.views.end())
    return std::optional<ChangedView>();
  NAMDB_SQL_CHECK(relation_name(range_var).status());
  const View& view = *found->second;
  std::vector<RequiredRight> before = std::exchange(binder.rights, {});
  Result<ViewQuery> query = bind_view_query(binder, view);
  std::vector<RequiredRight> rights = std::exchange(binder.rights, std::move(before));
  if (!query.ok()) return query.status();
  SelectPlan& select = *query->bound.select;
  if (!shows_one_table(select)) {
    return Status(ErrorCode::object_not_in_prerequisite_state,
                  "cannot " + std::string(change.verb) + " view \"" + view.name + "\"",
                  "change the tables that it reads: a view can be changed if it shows different columns of "
                  "one table")
        .with_detail(why_not_changeable(view, select));
  }
  ChangedView changed;
  changed.source.table = select.source.table;
  changed.source.index_expressions = select.source.index_expressions;
  changed.source.filter = std::move(select.source.filter);
  changed.source.name = view.name;
  if (const Json* const alias = find(range_var, "alias")) {
    NAMDB_SQL_CHECK(only(*alias, "an alias", {"aliasname"}));
    changed.source.name = text(*alias, "aliasname");
  }
  for (const ExprPtr& target : select.targets) changed.columns.push_back(target->index);
  changed.scope = scope_of_view(view, changed.source, changed.columns);
  NAMDB_SQL_CHECK(check_changeable(changed.source.table->name));
  require_through(binder, view.name, *changed.source.table, std::move(rights), change.privilege,
                  change.is_read);
  changed.body = body;
  Json& relation = changed.body["relation"];
  relation["relname"] = changed.source.table->name;
  relation["alias"] = {{"aliasname", changed.source.name}};
  if (change.targets == nullptr) return std::optional(std::move(changed));
  Json& targets = changed.body[change.targets];
  if (targets.empty()) {  // INSERT without a list of columns
    for (const View::Column& column : view.columns) targets.push_back(target_of(column.name));
  }
  NAMDB_SQL_CHECK(rename_targets(view, changed, binder.input.place, targets));
  return std::optional(std::move(changed));
}

}  // namespace namdb::sql
