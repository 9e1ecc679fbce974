// The definitions of foreign keys.
#include "compute/sql/bind/bind_foreign_key.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "compute/sql/bind/bind_definition.h"
#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/value/row_id.h"

namespace namdb::sql {
namespace {

using storage::ForeignKeyAction;

Result<ForeignKeyAction> action_of(std::string_view letter) {
  if (letter.empty() || letter == "a") return ForeignKeyAction::no_action;
  if (letter == "r") return ForeignKeyAction::restricted;
  if (letter == "c") return ForeignKeyAction::cascade;
  if (letter == "n") return ForeignKeyAction::set_null;
  if (letter == "d") return ForeignKeyAction::set_default;
  return unsupported("this action of a foreign key");
}

std::vector<std::string> strings(const Json& items) {
  std::vector<std::string> out;
  for (const std::string_view name : names(items)) out.emplace_back(name);
  return out;
}

// A table that is referenced: the definition itself, or another one.
class Referenced {
 public:
  Referenced(const Definition& definition, const std::vector<std::vector<std::string>>& more)
      : name_(definition.table), columns_(definition.columns) {
    if (definition.has_key) key_ = definition.key;
    for (const Definition::Unique& unique : definition.unique) unique_.push_back(unique.columns);
    unique_.insert(unique_.end(), more.begin(), more.end());
  }
  Referenced(const BindInput& input, const storage::TableRef& table)
      : name_(table->name), columns_(table->schema.columns()) {
    if (!has_row_id(table->schema)) {
      for (const std::uint32_t column : table->schema.key()) key_.push_back(columns_[column].name);
    }
    Source source;
    source.table = table;
    for (const storage::IndexRef& index : indexes_of(input, source)) {
      if (!index->unique || index->replaced() || !index->ready()) continue;
      std::vector<std::string>& columns = unique_.emplace_back();
      for (const layout::IndexColumn& column : index->shape.columns())
        columns.push_back(columns_[column.column].name);
    }
  }

  const std::vector<std::string>& key() const { return key_; }
  const layout::Column* find(std::string_view name) const {
    const auto found = std::ranges::find(columns_, name, &layout::Column::name);
    return found == columns_.end() || is_row_id(*found) ? nullptr : &*found;
  }
  bool is_unique(const std::vector<std::string>& columns) const {
    return is_same(columns, key_) ||
           std::ranges::any_of(unique_, [&](const auto& other) { return is_same(columns, other); });
  }
  const std::string& name() const { return name_; }

 private:
  static bool is_same(const std::vector<std::string>& left, const std::vector<std::string>& right) {
    return std::set<std::string>(left.begin(), left.end()) ==
           std::set<std::string>(right.begin(), right.end());
  }

  const std::string& name_;
  const std::vector<layout::Column>& columns_;
  std::vector<std::string> key_;
  std::vector<std::vector<std::string>> unique_;
};

bool is_text(layout::ColumnType type) {
  return type == layout::ColumnType::varchar || type == layout::ColumnType::text;
}

Status check_types(StatementBinder& binder, const std::string& name, const layout::Column& column,
                   const layout::Column& referenced) {
  const bool same_enumeration = enumeration_of(column) == enumeration_of(referenced);
  if ((column.type == referenced.type && same_enumeration) ||
      (column_type(column).is_integer() && column_type(referenced).is_integer()) ||
      (is_text(column.type) && is_text(referenced.type)))
    return {};
  const TypeId from = column_type(column).id;
  const TypeId to = column_type(referenced).id;
  if (can_cast(from, to, Coercion::implicit))
    return unsupported("a foreign key from type " + std::string(type_name(from)) + " to type " +
                       std::string(type_name(to)));
  if (binder.input.place != nullptr) {
    binder.input.place->set_detail("Key columns \"" + column.name + "\" and \"" + referenced.name +
                                   "\" are of incompatible types: " + std::string(type_name(from)) + " and " +
                                   std::string(type_name(to)) + ".");
  }
  return Status(ErrorCode::datatype_mismatch,
                "foreign key constraint \"" + name + "\" cannot be implemented");
}

Status missing_column(const std::string& name) {
  return Status(ErrorCode::undefined_column,
                "column \"" + name + "\" referenced in foreign key constraint does not exist");
}

// Actions cannot write a generated column.
Status check_generated_actions(const storage::ForeignKey& key) {
  using enum storage::ForeignKeyAction;
  const auto invalid = [](std::string_view action) {
    return Status(
        ErrorCode::syntax_error,
        "invalid " + std::string(action) + " action for foreign key constraint containing generated column");
  };
  if (key.on_update == set_null || key.on_update == set_default || key.on_update == cascade)
    return invalid("ON UPDATE");
  if (key.on_delete == set_null || key.on_delete == set_default) return invalid("ON DELETE");
  return {};
}

Status bind_columns(StatementBinder& binder, const Definition& definition, const Referenced& other,
                    storage::ForeignKey& key) {
  std::vector<const layout::Column*> columns;
  for (const std::string& name : key.columns) {
    const auto found = std::ranges::find(definition.columns, name, &layout::Column::name);
    if (found == definition.columns.end() || is_row_id(*found)) return missing_column(name);
    columns.push_back(&*found);
  }
  if (key.referenced.empty()) {
    key.referenced = other.key();
    if (key.referenced.empty()) {
      return Status(ErrorCode::undefined_object,
                    "there is no primary key for referenced table \"" + other.name() + "\"");
    }
  }
  for (const std::string& name : key.referenced) {
    if (other.find(name) == nullptr) return missing_column(name);
  }
  std::set<std::string> distinct(key.referenced.begin(), key.referenced.end());
  if (distinct.size() != key.referenced.size()) {
    return Status(ErrorCode::invalid_foreign_key,
                  "foreign key referenced-columns list must not contain duplicates");
  }
  if (!other.is_unique(key.referenced)) {
    return Status(
        ErrorCode::invalid_foreign_key,
        "there is no unique constraint matching given keys for referenced table \"" + other.name() + "\"");
  }
  if (key.columns.size() != key.referenced.size()) {
    return Status(ErrorCode::invalid_foreign_key,
                  "number of referencing and referenced columns for foreign key disagree");
  }
  if (std::ranges::any_of(columns, [](const layout::Column* column) { return is_generated(*column); }))
    NAMDB_SQL_CHECK(check_generated_actions(key));
  for (std::size_t i = 0; i < columns.size(); ++i)
    NAMDB_SQL_CHECK(check_types(binder, key.name, *columns[i], *other.find(key.referenced[i])));
  return {};
}

std::string chosen_key_name(const Definition& definition, const std::vector<std::string>& columns,
                            const std::set<std::string>& taken) {
  const std::vector<std::string_view> parts(columns.begin(), columns.end());
  for (std::size_t number = 0;; ++number) {
    std::string name =
        index_name(definition.table, parts, number == 0 ? "fkey" : "fkey" + std::to_string(number));
    if (!taken.contains(name)) return name;
  }
}

}  // namespace

Status add_foreign_key(const Json& constraint, std::string_view column, Definition& definition) {
  const bool is_full = text(constraint, "fk_matchtype") == "f";
  if (flag(constraint, "deferrable") && is_full) return unsupported("MATCH FULL with DEFERRABLE");
  if (!list(constraint, "fk_del_set_cols").empty())
    return unsupported("ON DELETE SET with a list of columns");
  NAMDB_SQL_CHECK(
      only(constraint, "FOREIGN KEY",
           {"contype", "conname", "pktable", "fk_attrs", "pk_attrs", "fk_matchtype", "fk_upd_action",
            "fk_del_action", "initially_valid", "skip_validation", "deferrable", "initdeferred"}));
  if (text(constraint, "fk_matchtype") == "p")
    return Status(ErrorCode::feature_not_supported, "MATCH PARTIAL not yet implemented");
  Definition::NewForeignKey key;
  key.constraint = &constraint;
  key.deferrable = flag(constraint, "deferrable");
  key.initially_deferred = flag(constraint, "initdeferred");
  key.columns = strings(list(constraint, "fk_attrs"));
  if (!column.empty()) key.columns = {std::string(column)};
  definition.new_foreign_keys.push_back(std::move(key));
  return {};
}

Result<std::vector<storage::ForeignKey>> bind_foreign_keys(
    StatementBinder& binder, const Definition& definition,
    const std::vector<std::vector<std::string>>& unique_keys) {
  std::vector<storage::ForeignKey> keys = definition.foreign_keys;
  std::set<std::string> taken;
  for (const storage::ForeignKey& key : keys) taken.insert(key.name);
  for (const storage::TableCheck& check : definition.checks) taken.insert(check.name);
  for (const Definition::NewForeignKey& added : definition.new_foreign_keys) {
    const Json& body = *added.constraint;
    storage::ForeignKey key;
    key.columns = added.columns;
    key.name = text(body, "conname");
    if (key.name.empty()) {
      key.name = chosen_key_name(definition, key.columns, taken);
    } else if (taken.contains(key.name)) {
      return Status(ErrorCode::duplicate_object, "constraint \"" + key.name + "\" for relation \"" +
                                                     definition.table + "\" already exists");
    }
    taken.insert(key.name);
    key.referenced = strings(list(body, "pk_attrs"));
    key.match_full = text(body, "fk_matchtype") == "f";
    NAMDB_SQL_ASSIGN(key.on_delete, action_of(text(body, "fk_del_action")));
    NAMDB_SQL_ASSIGN(key.on_update, action_of(text(body, "fk_upd_action")));
    key.not_valid = flag(body, "skip_validation");
    key.deferrable = added.deferrable;
    key.initially_deferred = added.initially_deferred;
    const Json& range_var = *find(body, "pktable");
    NAMDB_SQL_ASSIGN(const std::string name, relation_name(range_var));
    if (name == definition.table) {
      NAMDB_SQL_CHECK(bind_columns(binder, definition, Referenced(definition, unique_keys), key));
    } else {
      if (binder.input.views.contains(name))
        return Status(ErrorCode::wrong_object_type, "referenced relation \"" + name + "\" is not a table");
      NAMDB_SQL_ASSIGN(const storage::TableRef other, bind_table(binder, range_var));
      NAMDB_SQL_CHECK(check_changeable(other->name));
      require(binder, other, storage::kReferencesPrivilege);
      key.references = other->id;
      NAMDB_SQL_CHECK(bind_columns(binder, definition, Referenced(binder.input, other), key));
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<ReferencingKey> referencing_keys(const BindInput& input, const storage::Table& table) {
  std::vector<ReferencingKey> found;
  for (const auto& [id, other] : input.related) {
    for (const storage::ForeignKey& key : other->foreign_keys) {
      if (key.references == table.id) found.push_back({other, &key});
    }
  }
  return found;
}

std::string dependency_text(const ReferencingKey& key) {
  return "constraint " + key.key->name + " on table " + key.table->name + " depends on ";
}

}  // namespace namdb::sql
