// The plan of a table's alteration, once its draft is whole.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compute/sql/bind/bind_check.h"
#include "compute/sql/bind/bind_column.h"
#include "compute/sql/bind/bind_foreign_key.h"
#include "compute/sql/bind/bind_generated.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/bind/table_draft.h"
#include "compute/sql/value/row_id.h"

namespace namdb::sql {

Result<AlterTablePlan> TableDraft::finish() && {
  NAMDB_SQL_CHECK(bind_new_generated(binder_, definition_));
  give_room();
  if (replaces_rows_) arrange_index_columns();
  AlterTablePlan plan;
  plan.table = table_;
  plan.replaces_rows = replaces_rows_;
  if (!definition_.has_key) {
    // It stands behind all others.
    forget_row_id();
    add_row_id(definition_);
    if (has_row_id(table_->schema)) {
      values_[std::string(kRowIdColumn)] = old_value(kRowIdColumn);
    } else {
      NAMDB_SQL_CHECK(add_value());
      plan.replaces_rows = true;
    }
  }
  plan.definition.name = definition_.table;
  plan.definition.size_hint_rows = table_->size_hint_rows;
  plan.definition.ring_slots = table_->record.ring_slots;
  if (ordered_) plan.definition.ordered_key = shown_key_name();
  if (!definition_.new_checks.empty()) plan.replaces_rows = true;
  NAMDB_SQL_ASSIGN(plan.definition.checks, bind_checks(binder_, definition_));
  NAMDB_SQL_ASSIGN(plan.definition.foreign_keys, bind_foreign_keys(binder_, definition_, unique_indexes()));
  plan.validated = std::move(validated_);
  for (std::size_t i = definition_.foreign_keys.size(); i < plan.definition.foreign_keys.size(); ++i) {
    storage::ForeignKey& added = plan.definition.foreign_keys[i];
    if (!added.not_valid) plan.validated.push_back(added.name);
    added.not_valid = true;
    added.unsettled = true;
  }
  plan.cascaded = std::move(cascaded_);
  plan.dropped_columns = std::move(dropped_columns_);
  plan.retyped_columns = std::move(retyped_columns_);
  plan.renamed_columns = std::move(renamed_columns_);
  plan.cascades = cascades_;
  NAMDB_SQL_ASSIGN(std::vector<std::uint32_t> key,
                   constraint_columns(definition_, definition_.key, "primary key constraint"));
  NAMDB_SQL_CHECK(add_unique(definition_, key, plan.definition));
  NAMDB_SQL_ASSIGN(std::vector<std::uint32_t> partition,
                   constraint_columns(definition_, partition_, "partition key"));
  NAMDB_SQL_ASSIGN(plan.definition.schema,
                   layout::Schema::create(definition_.columns, key, std::move(partition)));
  NAMDB_SQL_ASSIGN(plan.sequences, constraint_columns(definition_, definition_.sequences, "the sequences"));
  plan.sequence_options = definition_.sequence_options;
  NAMDB_SQL_CHECK(plan.replaces_rows ? finish_rows(plan) : finish_names(plan));
  return plan;
}

Status TableDraft::finish_rows(AlterTablePlan& plan) {
  for (const layout::Column& column : definition_.columns)
    plan.values.push_back(std::move(values_[column.name]));
  storage::Table checked;
  checked.name = table_->name;
  checked.schema = plan.definition.schema;
  checked.checks = plan.definition.checks;
  NAMDB_SQL_ASSIGN(plan.checks, bind_checks_of(binder_, checked));
  for (const OtherIndex& other : others_) {
    txn::IndexDefinition index{other.name, {}, {}, other.unique, other.hash};
    NAMDB_SQL_ASSIGN(const std::vector<std::uint32_t> columns,
                     constraint_columns(definition_, other.columns, "index"));
    for (const std::uint32_t column : columns)
      NAMDB_SQL_CHECK(check_index_column(definition_.columns[column], other.hash));
    for (std::size_t i = 0; i < columns.size(); ++i)
      index.columns.push_back({columns[i], static_cast<bool>(other.descending[i])});
    plan.indexes.push_back(std::move(index));
  }
  return {};
}

Status TableDraft::finish_names(AlterTablePlan& plan) {
  std::set<std::string> kept;
  for (const txn::UniqueConstraint& unique : plan.definition.unique) kept.insert(unique.name);
  Source source;
  source.table = table_;
  std::set<std::string> there;
  for (const storage::IndexRef& index : indexes_of(binder_.input, source)) {
    if (!index->constraint || index->primary || index->replaced()) continue;
    there.insert(index->name);
    if (!kept.contains(index->name)) plan.dropped_constraints.push_back(index->name);
  }
  for (const txn::UniqueConstraint& unique : plan.definition.unique) {
    if (there.contains(unique.name)) continue;
    txn::IndexDefinition index{unique.name, {}, {}, true, false, true};
    for (const std::uint32_t column : unique.columns) index.columns.push_back({column, false});
    plan.indexes.push_back(std::move(index));
  }
  return {};
}

}  // namespace namdb::sql
