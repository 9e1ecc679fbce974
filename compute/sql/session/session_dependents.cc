// Objects that depend on tables, indexes and views that are dropped or altered: foreign keys of other tables,
// and views. They are read from the catalog of now.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "compute/sql/session/catalog_definitions.h"
#include "compute/sql/session/find_relation.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The columns by which foreign keys may reference a unique index.
std::set<std::string> columns_of_unique(const FoundRelation& relation) {
  std::set<std::string> columns;
  if (relation.index == nullptr || !relation.index->unique) return columns;
  for (const layout::IndexColumn& column : relation.index->shape.columns())
    columns.insert(relation.table->schema.columns()[column.column].name);
  return columns;
}

std::string dropped_text(const std::vector<std::string>& names, std::string_view kind) {
  return names.size() == 1 ? std::string(kind) + " " + names.front() : "desired object(s)";
}

}  // namespace

Task<Status> Session::find_dependents(RelationKind kind, std::vector<std::string> relations,
                                      Dependents* dependents) {
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  const auto views = co_await read_views(&engine_);
  if (!views.ok()) co_return views.status();
  const auto note_key = [&](const storage::Table& table, const storage::ForeignKey& key,
                            const std::string& depends_on) {
    dependents->keys.push_back({table.name, key.name});
    dependents->names.push_back("constraint " + key.name + " on table " + table.name);
    dependents->texts.push_back(dependents->names.back() + " depends on " + depends_on);
  };
  for (const std::string& name : relations) {
    if (kind == RelationKind::view) break;
    std::string wanted = name;
    const auto found = co_await find_relation(&engine_, std::move(wanted));
    if (!found.ok()) co_return found.status();
    if (found->table == nullptr) continue;
    const std::set<std::string> columns = columns_of_unique(*found);
    for (const storage::TableRef& table : *tables) {
      if (table->replaces != 0 || block_.dropped.contains(table->name)) continue;
      for (const storage::ForeignKey& key : table->foreign_keys) {
        const bool own = key.references == 0 && table->id == found->table->id;
        if (key.references != found->table->id && !own) continue;
        const bool by_index = std::set<std::string>(key.referenced.begin(), key.referenced.end()) == columns;
        if (kind == RelationKind::table && !own && contains(relations, table->name)) {
          dependents->inner.push_back({table->name, key.name});
          continue;
        }
        if (kind == RelationKind::index && by_index) note_key(*table, key, "index " + name);
        if (kind == RelationKind::table && !own) note_key(*table, key, "table " + name);
      }
    }
  }
  if (kind == RelationKind::index) co_return Status();
  // Views of views, too.
  std::vector<std::string> gone = relations;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    const std::string_view what = kind == RelationKind::table && i < relations.size() ? "table " : "view ";
    for (const ViewRef& view : *views) {
      if (!view->reads(gone[i]) || contains(relations, view->name)) continue;
      if (contains(dependents->views, view->name)) continue;
      dependents->views.push_back(view->name);
      dependents->names.push_back("view " + view->name);
      dependents->texts.push_back("view " + view->name + " depends on " + std::string(what) + gone[i]);
      gone.push_back(view->name);
    }
  }
  std::ranges::reverse(dependents->views);
  co_return Status();
}

Status Session::refuse_drop(const Drop& drop, const std::vector<std::string>& there,
                            const Dependents& dependents) {
  error_.detail.clear();
  for (const std::string& text : dependents.texts)
    error_.detail += (error_.detail.empty() ? "" : "\n") + text;
  const std::string_view kind = drop.kind == RelationKind::table   ? "table"
                                : drop.kind == RelationKind::index ? "index"
                                : drop.kind == RelationKind::type  ? "type"
                                                                   : "view";
  return Status(ErrorCode::dependent_objects_still_exist,
                "cannot drop " + dropped_text(there, kind) + " because other objects depend on " +
                    (there.size() == 1 ? "it" : "them"),
                "Use DROP ... CASCADE to drop the dependent objects too.");
}

Status Session::check_dependents(const Drop& drop, const std::vector<std::string>& there,
                                 const Dependents& dependents, ResultSink& sink) {
  if (dependents.names.empty() || drop.silently) return {};
  if (!drop.cascades) return refuse_drop(drop, there, dependents);
  notify(sink, "NOTICE", "00000",
         "drop cascades to " + (dependents.names.size() == 1
                                    ? dependents.names.front()
                                    : std::to_string(dependents.names.size()) + " other objects"));
  return {};
}

Task<Status> Session::drop_dependents(const Dependents* dependents) {
  for (const std::string& view : dependents->views) {
    std::string name = view;
    Status status = co_await drop_view(std::move(name));
    if (!status.ok()) co_return status;
  }
  for (const std::vector<Dependents::Key>* keys : {&dependents->keys, &dependents->inner}) {
    for (const Dependents::Key& key : *keys) {
      std::string table = key.table;
      std::string name = key.name;
      Status status = co_await drop_foreign_key(std::move(table), std::move(name));
      if (!status.ok()) co_return status;
    }
  }
  co_return Status();
}

Task<Status> Session::check_view_columns(const AlterTablePlan* plan, std::vector<std::string>* dropped) {
  const std::string& table = plan->table->name;
  const bool renames = plan->definition.name != table;
  if (plan->dropped_columns.empty() && plan->retyped_columns.empty() && plan->renamed_columns.empty() &&
      !renames)
    co_return Status();
  const auto views = co_await read_views(&engine_);
  if (!views.ok()) co_return views.status();
  std::vector<std::string> wanted;
  for (const ViewRef& view : *views) {
    if (!view->reads(table)) continue;
    if (renames)
      co_return Status(
          ErrorCode::feature_not_supported,
          "RENAME of table \"" + table + "\" that view \"" + view->name + "\" reads is not supported",
          "drop the view first");
    for (const auto& [column, other] : plan->renamed_columns) {
      if (view->reads(table, column))
        co_return Status(
            ErrorCode::feature_not_supported,
            "RENAME of column \"" + column + "\" that view \"" + view->name + "\" reads is not supported",
            "drop the view first");
    }
    for (const std::string& column : plan->retyped_columns) {
      if (!view->reads(table, column)) continue;
      error_.detail = "rule _RETURN on view " + view->name + " depends on column \"" + column + "\"";
      co_return Status(ErrorCode::feature_not_supported,
                       "cannot alter type of a column used by a view or rule");
    }
    for (const std::string& column : plan->dropped_columns) {
      if (!view->reads(table, column)) continue;
      const std::string of_table = "column " + column + " of table " + table;
      if (!plan->cascades) {
        error_.detail = "view " + view->name + " depends on " + of_table;
        co_return Status(ErrorCode::dependent_objects_still_exist,
                         "cannot drop " + of_table + " because other objects depend on it",
                         "Use DROP ... CASCADE to drop the dependent objects too.");
      }
      wanted.push_back(view->name);
      break;
    }
  }
  if (wanted.empty()) co_return Status();
  Dependents others;
  std::vector<std::string> relations = wanted;
  Status status = co_await find_dependents(RelationKind::view, std::move(relations), &others);
  *dropped = std::move(others.views);
  dropped->insert(dropped->end(), wanted.begin(), wanted.end());
  co_return status;
}

}  // namespace namdb::sql
