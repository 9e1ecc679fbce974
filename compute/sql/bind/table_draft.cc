#include "compute/sql/bind/table_draft.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "common/layout/long_value.h"
#include "compute/sql/bind/bind_check.h"
#include "compute/sql/bind/bind_column.h"
#include "compute/sql/bind/bind_foreign_key.h"
#include "compute/sql/bind/bind_generated.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/value/enumeration.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

std::vector<std::string> names_of(const std::vector<layout::Column>& columns,
                                  const std::vector<std::uint32_t>& positions) {
  std::vector<std::string> names;
  for (const std::uint32_t position : positions) names.push_back(columns[position].name);
  return names;
}

bool names_column(const std::vector<std::string>& names, std::string_view column) {
  return std::ranges::find(names, column) != names.end();
}

void rename_in(std::vector<std::string>& names, std::string_view name, std::string_view other) {
  std::ranges::replace(names, std::string(name), std::string(other));
}

}  // namespace

Result<TableDraft> TableDraft::of(StatementBinder& binder, storage::TableRef table) {
  TableDraft draft(binder, std::move(table));
  Definition& definition = draft.definition_;
  const storage::Table& old = *draft.table_;
  definition.table = old.name;
  definition.columns = old.schema.columns();
  definition.key = names_of(definition.columns, old.schema.key());
  definition.has_key = !has_row_id(old.schema);
  definition.checks = old.checks;
  definition.foreign_keys = old.foreign_keys;
  draft.partition_ = names_of(definition.columns, old.schema.partition());
  NAMDB_SQL_CHECK(draft.read_indexes());
  for (const layout::Column& column : definition.columns)
    draft.values_[column.name] = sql::generation_of(column) ? nullptr : draft.old_value(column.name);
  return draft;
}

Status TableDraft::read_indexes() {
  Source source;
  source.table = table_;
  for (const storage::IndexRef& index : indexes_of(binder_.input, source)) {
    if (index->replaced()) continue;
    if (!index->ready())
      return Status(ErrorCode::table_is_altered, "index \"" + index->name + "\" is being built");
    if (index->primary) {
      ordered_ = true;
      definition_.key_name = index->name;
      continue;
    }
    OtherIndex other{index->name, {}, {}, index->unique, index->hash};
    for (const layout::IndexColumn& column : index->shape.columns()) {
      other.columns.push_back(definition_.columns[column.column].name);
      other.descending.push_back(column.descending);
    }
    if (index->constraint) {
      definition_.unique.push_back({index->name, std::move(other.columns)});
    } else {
      others_.push_back(std::move(other));
    }
  }
  return {};
}

ExprPtr TableDraft::old_value(std::string_view name) const {
  const std::uint32_t position = *table_->schema.find(name);
  ExprPtr value = make_expr(ExprKind::column, column_type(table_->schema.columns()[position]));
  value->index = position;
  return value;
}

Result<layout::Column*> TableDraft::column(std::string_view name) {
  layout::Column* const found = name == kRowIdColumn ? nullptr : definition_.find(name);
  if (found != nullptr) return found;
  return Status(ErrorCode::undefined_column,
                "column \"" + std::string(name) + "\" of relation \"" + table_->name + "\" does not exist");
}

Status TableDraft::add_value() {
  const layout::Column& column = definition_.columns.back();
  replaces_rows_ = true;
  if (sequence_default_of(column)) {
    values_[column.name] = nullptr;  // the next number
    return {};
  }
  ExpressionBinder expressions(binder_.parameters, binder_.input.facts, binder_.input.place);
  NAMDB_SQL_ASSIGN(values_[column.name], default_of(expressions, column));
  return {};
}

bool TableDraft::is_key_column(std::string_view name) const {
  return definition_.has_key && names_column(definition_.key, name);
}

std::string TableDraft::shown_key_name() const {
  return definition_.key_name.empty() ? index_name(table_->name, {}, "pkey") : definition_.key_name;
}

void TableDraft::drop_key() {
  definition_.has_key = false;
  definition_.key_name.clear();
  ordered_ = false;
  replaces_rows_ = true;
}

void TableDraft::forget_row_id() {
  std::erase_if(definition_.columns, [](const layout::Column& column) { return is_row_id(column); });
  values_.erase(std::string(kRowIdColumn));
}

Status TableDraft::use_key() {
  forget_row_id();
  ordered_ = true;
  replaces_rows_ = true;
  for (const std::string& name : definition_.key) {
    const Result<layout::Column*> found = column(name);
    if (!found.ok())
      return Status(ErrorCode::undefined_column,
                    "column \"" + name + "\" of relation \"" + table_->name + "\" does not exist");
    (*found)->not_null = true;
  }
  return {};
}

bool TableDraft::drop_dependents(std::string_view name) {
  std::erase_if(definition_.unique, [&](const auto& unique) { return names_column(unique.columns, name); });
  std::erase_if(others_, [&](const auto& index) { return names_column(index.columns, name); });
  return is_key_column(name);
}

Status TableDraft::drop_checks_of(std::string_view name) {
  std::vector<storage::TableCheck> kept;
  for (const storage::TableCheck& check : definition_.checks) {
    NAMDB_SQL_ASSIGN(const ExprPtr condition,
                     bind_kept_check(binder_, check, table_->name, definition_.columns));
    bool reads = false;
    for_each_column(*condition,
                    [&](std::uint32_t column) { reads |= definition_.columns[column].name == name; });
    if (!reads) kept.push_back(check);
  }
  definition_.checks = std::move(kept);
  return {};
}

Status TableDraft::drop_referencing(const std::vector<std::string>& columns, bool any,
                                    const std::string& what, const std::string& dependency, bool cascades) {
  const std::set<std::string> wanted(columns.begin(), columns.end());
  const auto depends = [&](const storage::ForeignKey& key) {
    const std::set<std::string> referenced(key.referenced.begin(), key.referenced.end());
    if (!any) return referenced == wanted;
    return std::ranges::any_of(referenced,
                               [&](const std::string& column) { return wanted.contains(column); });
  };
  std::vector<ReferencingKey> found;
  for (const ReferencingKey& key : referencing_keys(binder_.input, *table_)) {
    const bool is_gone = std::ranges::any_of(cascaded_, [&](const DroppedForeignKey& gone) {
      return gone.table->id == key.table->id && gone.name == key.key->name;
    });
    if (!is_gone && depends(*key.key)) found.push_back(key);
  }
  for (const storage::ForeignKey& key : definition_.foreign_keys) {
    const bool goes_with_it = any && std::ranges::any_of(key.columns, [&](const std::string& column) {
                                return wanted.contains(column);
                              });
    if (key.references == 0 && depends(key) && !goes_with_it) found.push_back({table_, &key});
  }
  if (found.empty()) return {};
  if (!cascades) {
    std::string detail;
    for (const ReferencingKey& key : found)
      detail += (detail.empty() ? "" : "\n") + dependency_text(key) + dependency;
    return detailed(binder_.input.place,
                    Status(ErrorCode::dependent_objects_still_exist,
                           "cannot drop " + what + " because other objects depend on it",
                           "Use DROP ... CASCADE to drop the dependent objects too."),
                    std::move(detail));
  }
  std::set<std::string> own;
  for (const ReferencingKey& key : found) {
    cascaded_texts_.push_back("constraint " + key.key->name + " on table " + key.table->name);
    if (key.table->id == table_->id) {
      own.insert(key.key->name);
    } else {
      cascaded_.push_back({key.table, key.key->name});
    }
  }
  std::erase_if(definition_.foreign_keys, [&](const auto& key) { return own.contains(key.name); });
  return {};
}

Status TableDraft::check_no_foreign_key(std::string_view column) const {
  const auto refused = [&](const std::string& name) {
    return unsupported("ALTER COLUMN TYPE of column \"" + std::string(column) + "\" of foreign key \"" +
                       name + "\"");
  };
  for (const storage::ForeignKey& key : definition_.foreign_keys) {
    if (names_column(key.columns, column) || (key.references == 0 && names_column(key.referenced, column)))
      return refused(key.name);
  }
  for (const ReferencingKey& key : referencing_keys(binder_.input, *table_)) {
    if (names_column(key.key->referenced, column)) return refused(key.key->name);
  }
  return {};
}

std::vector<std::vector<std::string>> TableDraft::unique_indexes() const {
  std::vector<std::vector<std::string>> columns;
  for (const OtherIndex& index : others_) {
    if (index.unique) columns.push_back(index.columns);
  }
  return columns;
}

Status TableDraft::drop_column(std::string_view name, bool cascades) {
  NAMDB_SQL_CHECK(column(name).status());
  const std::string dropped = "column " + std::string(name) + " of table " + table_->name;
  NAMDB_SQL_CHECK(drop_referencing({std::string(name)}, true, dropped, dropped, cascades));
  std::erase_if(definition_.foreign_keys, [&](const auto& key) { return names_column(key.columns, name); });
  dropped_columns_.emplace_back(name);
  cascades_ = cascades_ || cascades;
  if (names_column(partition_, name)) {
    return Status(ErrorCode::invalid_table_definition,
                  "cannot drop column \"" + std::string(name) +
                      "\" because it is part of the partition key of relation \"" + table_->name + "\"");
  }
  NAMDB_SQL_CHECK(drop_generated_of(name, cascades));
  NAMDB_SQL_CHECK(drop_checks_of(name));
  if (drop_dependents(name)) drop_key();
  std::erase_if(definition_.columns, [&](const layout::Column& column) { return column.name == name; });
  std::erase(definition_.sequences, name);
  values_.erase(values_.find(name));
  replaces_rows_ = true;
  return {};
}

Status TableDraft::set_type(const Json& body, std::string_view name) {
  NAMDB_SQL_CHECK(only(body, "ALTER COLUMN TYPE", {"typeName", "raw_default"}));
  NAMDB_SQL_ASSIGN(layout::Column* const column, this->column(name));
  NAMDB_SQL_CHECK(check_no_foreign_key(name));
  NAMDB_SQL_CHECK(check_no_generated(name));
  const bool is_calculated = is_generated(*column);
  if (is_calculated && sql::find(body, "raw_default") != nullptr)
    return unsupported("ALTER COLUMN TYPE ... USING of a generated column");
  retyped_columns_.emplace_back(name);
  const Json& named = *sql::find(body, "typeName");
  const Result<Type> type = bind_type(named, binder_.input.facts);
  if (!type.ok()) return located(binder_.input.place, named, type.status());
  layout::Column changed;
  changed.name = column->name;
  changed.not_null = column->not_null;
  NAMDB_SQL_CHECK(set_column_type(changed, *type));
  ExpressionBinder expressions(binder_.parameters, binder_.input.facts, binder_.input.place);
  Source source;
  source.table = table_;
  source.name = table_->name;
  expressions.set_scope(scope_of(source));
  expressions.set_aggregates(nullptr, "transform expressions");
  ExprPtr value;
  if (const Json* const given = sql::find(body, "raw_default")) {
    NAMDB_SQL_ASSIGN(value, expressions.bind(*given));
  } else if (table_->schema.find(name)) {
    value = old_value(name);
  } else {
    return unsupported("ALTER COLUMN TYPE of a column that the same statement adds");
  }
  Status status = coerce_to_column(expressions, value, changed);
  if (!status.ok() && status.code() == ErrorCode::datatype_mismatch) {
    const bool has_using = sql::find(body, "raw_default") != nullptr;
    const std::string wanted(type_name(column_type(changed).id));
    return Status(ErrorCode::datatype_mismatch,
                  has_using
                      ? "result of USING clause for column \"" + changed.name +
                            "\" cannot be cast automatically to type " + wanted
                      : "column \"" + changed.name + "\" cannot be cast automatically to type " + wanted,
                  has_using ? "You might need to add an explicit cast."
                            : "You might need to specify \"USING " + changed.name + "::" + wanted + "\".");
  }
  NAMDB_SQL_CHECK(std::move(status));
  if (column->default_text) {
    changed.default_text = column->default_text;
    const std::uint32_t enumeration = enumeration_of(*column);
    if (enumeration != 0 && enumeration_of(changed) != enumeration) {
      const ExprPtr before = default_of(expressions, *column).value();
      changed.default_text = enumeration_label(before->type.id, before->value.integer);
    }
    const bool is_new_enumeration = enumeration_of(changed) != 0 && enumeration_of(changed) != enumeration;
    const bool is_kept =
        sequence_default_of(*column) || !has_default(*column) || changed.type == column->type;
    const Result<ExprPtr> fits = default_of(expressions, changed);
    if (is_new_enumeration || !fits.ok() || (!is_kept && *fits == nullptr)) {
      return Status(ErrorCode::datatype_mismatch, "default for column \"" + changed.name +
                                                      "\" cannot be cast automatically to type " +
                                                      std::string(type_name(column_type(changed).id)));
    }
  }
  values_[changed.name] = is_calculated ? nullptr : std::move(value);
  *column = std::move(changed);
  replaces_rows_ = true;
  return {};
}

Status TableDraft::set_not_null(std::string_view name) {
  NAMDB_SQL_ASSIGN(layout::Column* const column, this->column(name));
  if (std::exchange(column->not_null, true)) return {};
  replaces_rows_ = true;  // the values are checked
  return {};
}

Status TableDraft::drop_not_null(std::string_view name) {
  NAMDB_SQL_ASSIGN(layout::Column* const column, this->column(name));
  const auto filled = sequence_default_of(*column);
  if (filled && filled->is_identity()) {
    return Status(ErrorCode::syntax_error, "column \"" + std::string(name) + "\" of relation \"" +
                                               table_->name + "\" is an identity column");
  }
  if (is_key_column(name)) {
    return Status(ErrorCode::invalid_table_definition,
                  "column \"" + std::string(name) + "\" is in a primary key");
  }
  column->not_null = false;
  return {};
}

bool TableDraft::has_constraint(std::string_view name) const {
  return (definition_.has_key && shown_key_name() == name) ||
         std::ranges::any_of(definition_.unique, [&](const auto& unique) { return unique.name == name; }) ||
         std::ranges::any_of(definition_.checks, [&](const auto& check) { return check.name == name; }) ||
         std::ranges::any_of(definition_.foreign_keys, [&](const auto& key) { return key.name == name; });
}

bool TableDraft::validate_constraint(std::string_view name) {
  if (!has_constraint(name)) return false;
  for (const storage::ForeignKey& key : definition_.foreign_keys) {
    if (key.name == name && (key.not_valid || key.unsettled)) validated_.push_back(key.name);
  }
  return true;
}

Result<bool> TableDraft::drop_constraint(std::string_view name, bool cascades) {
  if (!has_constraint(name)) return false;
  const std::string dropped = "constraint " + std::string(name) + " on table " + table_->name;
  const std::string index = "index " + std::string(name);
  if (definition_.has_key && shown_key_name() == name) {
    if (!partition_.empty()) return unsupported("dropping the primary key of a partitioned table");
    NAMDB_SQL_CHECK(drop_referencing(definition_.key, false, dropped, index, cascades));
    drop_key();
    return true;
  }
  for (const Definition::Unique& unique : std::vector<Definition::Unique>(definition_.unique)) {
    if (unique.name == name)
      NAMDB_SQL_CHECK(drop_referencing(unique.columns, false, dropped, index, cascades));
  }
  std::erase_if(definition_.foreign_keys, [&](const auto& key) { return key.name == name; });
  std::erase_if(definition_.unique, [&](const auto& unique) { return unique.name == name; });
  std::erase_if(definition_.checks, [&](const auto& check) { return check.name == name; });
  return true;
}

Status TableDraft::rename_column(std::string_view name, std::string_view other) {
  std::vector<layout::Column> renamed = definition_.columns;
  for (layout::Column& column : renamed) {
    if (column.name == name) column.name = other;
  }
  for (storage::TableCheck& check : definition_.checks) {
    const Result<ExprPtr> condition = bind_kept_check(binder_, check, table_->name, definition_.columns);
    if (condition.ok()) check.expression = check_text(**condition, renamed);
  }
  const std::vector<layout::Column> names = renamed;
  for (layout::Column& column : renamed)
    NAMDB_SQL_CHECK(rename_in_generated(binder_, column, table_->name, definition_.columns, names));
  definition_.columns = std::move(renamed);
  renamed_columns_.emplace(name, other);
  for (storage::ForeignKey& key : definition_.foreign_keys) {
    rename_in(key.columns, name, other);
    if (key.references == 0) rename_in(key.referenced, name, other);
  }
  rename_in(definition_.key, name, other);
  for (Definition::Unique& unique : definition_.unique) rename_in(unique.columns, name, other);
  for (OtherIndex& index : others_) rename_in(index.columns, name, other);
  rename_in(partition_, name, other);
  return {};
}

bool TableDraft::is_indexed_now(std::string_view name) const {
  const std::optional<std::uint32_t> position = table_->schema.find(name);
  if (!position) return false;
  if (table_->schema.is_key_column(*position)) return true;
  for (const storage::IndexRef& index : table_->indexes) {
    if (!index->replaced() &&
        std::ranges::count(index->shape.columns(), *position, &layout::IndexColumn::column))
      return true;
  }
  return std::ranges::any_of(table_->foreign_keys,
                             [&](const auto& key) { return names_column(key.columns, name); });
}

bool TableDraft::make_room(std::string_view name) {
  const auto column = std::ranges::find(definition_.columns, name, &layout::Column::name);
  const bool is_narrow =
      column->is_string() && column->length_bytes == kRoom_bytes && layout::can_be_long(*column);
  if (!is_narrow || is_indexed_now(name)) return false;
  column->length_bytes = default_room_bytes(*column, true);
  replaces_rows_ = true;
  return true;
}

void TableDraft::give_room() {
  for (layout::Column& column : definition_.columns) {
    const bool in_key = keys_have(definition_, column.name);
    const bool in_index = std::ranges::any_of(
        others_, [&](const OtherIndex& index) { return names_column(index.columns, column.name); });
    if (column.is_string() && column.length_bytes == 0) {
      // One that gets its type anew may be about to get an index.
      const bool is_retyped = names_column(retyped_columns_, column.name);
      column.length_bytes = default_room_bytes(column, in_key || in_index || is_retyped);
    } else if (in_key && !in_index && column.length_bytes == kRoom_bytes && layout::can_be_long(column) &&
               !is_indexed_now(column.name)) {
      column.length_bytes = default_room_bytes(column, true);
      replaces_rows_ = true;
    }
  }
}

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
