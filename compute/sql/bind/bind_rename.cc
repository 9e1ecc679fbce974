// ALTER ... RENAME: of tables, columns, constraints and indexes.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/api/long_value_tables.h"
#include "compute/sql/bind/bind_enumeration.h"
#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/bind/table_draft.h"
#include "compute/sql/value/row_id.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxNewName_bytes = 63;

Status rename_column(TableDraft& draft, std::string_view name, const std::string& other) {
  if (name == kRowIdColumn || draft.definition().find(name) == nullptr)
    return Status(ErrorCode::undefined_column, "column \"" + std::string(name) + "\" does not exist");
  if (draft.definition().find(other) != nullptr || other == kRowIdColumn) {
    return Status(ErrorCode::duplicate_column,
                  "column \"" + other + "\" of relation \"" + draft.table().name + "\" already exists");
  }
  return draft.rename_column(name, other);
}

// Of an index, or of the constraint that has it.
bool rename_index(const BindInput& input, const storage::TableRef& table, std::string_view name,
                  const std::string& other, AlterTablePlan& plan) {
  Source source;
  source.table = table;
  for (const storage::IndexRef& index : indexes_of(input, source)) {
    if (index->replaced() || index->name != name) continue;
    plan.index_names[index->id] = other;
    return true;
  }
  return false;
}

Status rename_constraint(TableDraft& draft, const BindInput& input, const storage::TableRef& table,
                         std::string_view name, const std::string& other, AlterTablePlan& plan) {
  const auto of_table = [&](std::string_view constraint) {
    return "constraint \"" + std::string(constraint) + "\" for ";
  };
  if (!draft.has_constraint(name)) {
    return Status(ErrorCode::undefined_object,
                  of_table(name) + "table \"" + table->name + "\" does not exist");
  }
  if (draft.has_constraint(other)) {
    return Status(ErrorCode::duplicate_object,
                  of_table(other) + "relation \"" + table->name + "\" already exists");
  }
  for (storage::TableCheck& check : draft.definition().checks) {
    if (check.name != name) continue;
    check.name = other;
    return {};
  }
  for (storage::ForeignKey& key : draft.definition().foreign_keys) {
    if (key.name != name) continue;
    key.name = other;
    return {};
  }
  if (rename_index(input, table, name, other, plan)) return {};
  return unsupported("RENAME CONSTRAINT of a primary key without an order");
}

}  // namespace

Result<Plan> bind_rename(StatementBinder& binder, const Json& body) {
  const std::string_view kind = text(body, "renameType");
  if (kind == "OBJECT_ROLE") return bind_rename_role(body);
  if (kind == "OBJECT_TYPE") return bind_rename_type(body);
  const bool of_index = kind == "OBJECT_INDEX";
  const bool of_view = kind == "OBJECT_VIEW";
  if (kind == "OBJECT_COLUMN" && text(body, "relationType") == "OBJECT_VIEW")
    return unsupported("RENAME COLUMN of a view");
  const bool of_relation =
      kind == "OBJECT_TABLE" || kind == "OBJECT_COLUMN" || kind == "OBJECT_TABCONSTRAINT";
  if (!of_index && !of_relation && !of_view) return unsupported("RENAME of this kind of object");
  NAMDB_SQL_CHECK(
      only(body, "RENAME",
           {"renameType", "relationType", "relation", "subname", "newname", "behavior", "missing_ok"}));
  const std::string other(text(body, "newname"));
  if (other.size() > kMaxNewName_bytes)
    return Status(ErrorCode::limit_exceeded, "a name can have at most 63 bytes");
  if (storage::keeps_long_values(other)) return unsupported("a name that begins with this character");
  if (of_view) {
    DropViewPlan renamed;
    NAMDB_SQL_ASSIGN(std::string name, relation_name(*find(body, "relation")));
    renamed.names.push_back(std::move(name));
    renamed.if_exists = flag(body, "missing_ok");
    renamed.renamed = other;
    Plan view;
    view.tag = "ALTER VIEW";
    view.body = std::move(renamed);
    return view;
  }
  Plan plan;
  plan.tag = of_index ? "ALTER INDEX" : "ALTER TABLE";
  if (of_index) {
    // Which table has it is found when the plan is run.
    AlterTablePlan alter;
    NAMDB_SQL_ASSIGN(alter.index, relation_name(*find(body, "relation")));
    alter.definition.name = other;
    alter.if_exists = flag(body, "missing_ok");
    plan.body = std::move(alter);
    return plan;
  }
  Result<storage::TableRef> found = bind_changed_table(binder, *find(body, "relation"));
  if (!found.ok()) {
    if (!flag(body, "missing_ok") || found.status().code() != ErrorCode::undefined_table)
      return found.status();
    AlterTablePlan nothing;
    nothing.notices.push_back({"00000", found.status().message() + ", skipping"});
    plan.body = std::move(nothing);
    return plan;
  }
  const storage::TableRef table = std::move(found).value();
  NAMDB_SQL_ASSIGN(TableDraft draft, TableDraft::of(binder, table));
  AlterTablePlan renamed;
  if (kind == "OBJECT_TABLE") {
    draft.definition().table = other;
  } else if (kind == "OBJECT_COLUMN") {
    NAMDB_SQL_CHECK(rename_column(draft, text(body, "subname"), other));
  } else {
    NAMDB_SQL_CHECK(rename_constraint(draft, binder.input, table, text(body, "subname"), other, renamed));
  }
  NAMDB_SQL_ASSIGN(AlterTablePlan alter, std::move(draft).finish());
  alter.index_names = std::move(renamed.index_names);
  plan.body = std::move(alter);
  return plan;
}

}  // namespace namdb::sql
