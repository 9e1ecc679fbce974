#include "compute/sql/bind/bind_definition.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/layout/long_value.h"
#include "compute/sql/bind/bind_column.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/value/called_default.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

Status set_key(Definition& definition, std::vector<std::string> key, std::string_view name) {
  if (definition.has_key) {
    return Status(ErrorCode::invalid_table_definition,
                  "multiple primary keys for table \"" + definition.table + "\" are not allowed");
  }
  definition.has_key = true;
  definition.key = std::move(key);
  definition.key_name = name;
  return {};
}

Status unsupported_constraint(std::string_view kind) {
  const bool is_deferred = kind == "CONSTR_ATTR_DEFERRABLE" || kind == "CONSTR_ATTR_DEFERRED";
  const std::string_view name = is_deferred                  ? "DEFERRABLE"
                                : kind == "CONSTR_EXCLUSION" ? "EXCLUDE"
                                                             : "this constraint";
  return unsupported(name);
}

struct SerialType {
  std::string_view name;
  TypeId id;
};
constexpr std::array kSerialTypes = {
    SerialType{"smallserial", TypeId::int2}, SerialType{"serial2", TypeId::int2},
    SerialType{"serial", TypeId::int4},      SerialType{"serial4", TypeId::int4},
    SerialType{"bigserial", TypeId::int8},   SerialType{"serial8", TypeId::int8}};

// The integer type of serial and its like.
std::optional<TypeId> serial_type(const Json& type_name_json) {
  const std::vector<std::string_view> parts = names(list(type_name_json, "names"));
  for (const SerialType& serial : kSerialTypes) {
    if (parts.size() == 1 && parts[0] == serial.name) return serial.id;
  }
  return std::nullopt;
}

Status add_sequence(layout::Column& column, SequenceDefault::Kind kind, Definition& definition) {
  if (!column_type(column).is_integer()) {
    return Status(ErrorCode::invalid_parameter_value,
                  "identity column type must be smallint, integer, or bigint");
  }
  const std::array<std::string_view, 1> names = {column.name};
  column.default_text = sequence_default_text({index_name(definition.table, names, "seq"), kind});
  column.not_null = true;
  definition.sequences.push_back(column.name);
  return {};
}

Status add_check(const Json& constraint, std::string_view column, Definition& definition) {
  NAMDB_SQL_CHECK(
      only(constraint, "CHECK",
           {"contype", "conname", "raw_expr", "initially_valid", "skip_validation", "is_no_inherit"}));
  if (flag(constraint, "is_no_inherit")) return unsupported("CHECK ... NO INHERIT");
  if (flag(constraint, "skip_validation")) return unsupported("NOT VALID");
  definition.new_checks.push_back(
      {std::string(text(constraint, "conname")), std::string(column), &*find(constraint, "raw_expr")});
  return {};
}

}  // namespace

namespace {

// DEFERRABLE and its like, behind a constraint in the definition of a column.
Status add_attribute(std::string_view kind, std::string_view constraint, Definition& definition) {
  const bool is_deferrable = kind == "CONSTR_ATTR_DEFERRABLE" || kind == "CONSTR_ATTR_DEFERRED";
  if (constraint != "CONSTR_FOREIGN") {
    if (is_deferrable) return unsupported_constraint(kind);
    return {};  // that is what every constraint is
  }
  Definition::NewForeignKey& key = definition.new_foreign_keys.back();
  if (!is_deferrable) return {};
  if (text(*key.constraint, "fk_matchtype") == "f") return unsupported("MATCH FULL with DEFERRABLE");
  key.deferrable = true;
  key.initially_deferred = key.initially_deferred || kind == "CONSTR_ATTR_DEFERRED";
  return {};
}

}  // namespace

Status add_identity(layout::Column& column, const Json& constraint, Definition& definition) {
  const bool always = text(constraint, "generated_when") == "a";
  NAMDB_SQL_CHECK(add_sequence(
      column, always ? SequenceDefault::Kind::always : SequenceDefault::Kind::by_default, definition));
  ColumnSequence sequence;
  NAMDB_SQL_CHECK(bind_identity_options(list(constraint, "options"), sequence));
  definition.sequence_options[column.name] = std::move(sequence);
  return {};
}

layout::Column* Definition::find(std::string_view name) {
  const auto found = std::ranges::find(columns, name, &layout::Column::name);
  return found == columns.end() ? nullptr : &*found;
}

Status bind_column_definition(StatementBinder& binder, const Json& body, Definition& definition) {
  const std::string& table = definition.table;
  NAMDB_SQL_CHECK(only(body, "a column definition", {"colname", "typeName", "constraints", "is_local"}));
  layout::Column column;
  column.name = text(body, "colname");
  if (column.name == kRowIdColumn) {
    return Status(ErrorCode::duplicate_column,
                  "column name \"" + column.name + "\" conflicts with a system column name");
  }
  if (definition.find(column.name) != nullptr) {
    return Status(ErrorCode::duplicate_column, "column \"" + column.name + "\" specified more than once");
  }
  const Json& named = *find(body, "typeName");
  const std::optional<TypeId> serial = serial_type(named);
  const Result<Type> found = serial ? Result<Type>(Type{*serial}) : bind_type(named, binder.input.facts);
  if (!found.ok()) return located(binder.input.place, named, found.status());
  const Type type = *found;
  NAMDB_SQL_CHECK(set_column_type(column, type));
  bool null = false;
  bool has_default = serial.has_value();
  bool is_identity = false;
  bool is_generated = false;
  if (serial) NAMDB_SQL_CHECK(add_sequence(column, SequenceDefault::Kind::serial, definition));
  const auto both = [&](std::string_view one, std::string_view other) {
    return Status(ErrorCode::syntax_error, "both " + std::string(one) + " and " + std::string(other) +
                                               " specified for column \"" + column.name + "\" of table \"" +
                                               table + "\"");
  };
  std::string_view last;  // the constraint that attributes are about
  for (const Json& item : list(body, "constraints")) {
    const Json& constraint = *node(item).body;
    const std::string_view kind = text(constraint, "contype");
    if (!kind.starts_with("CONSTR_ATTR_")) last = kind;
    if (kind == "CONSTR_NOTNULL" || kind == "CONSTR_NULL") {
      (kind == "CONSTR_NULL" ? null : column.not_null) = true;
      if (null && column.not_null) {
        return Status(ErrorCode::syntax_error, "conflicting NULL/NOT NULL declarations for column \"" +
                                                   column.name + "\" of table \"" + table + "\"");
      }
    } else if (kind == "CONSTR_PRIMARY") {
      NAMDB_SQL_CHECK(only(constraint, "PRIMARY KEY", {"contype", "conname"}));
      NAMDB_SQL_CHECK(set_key(definition, {column.name}, text(constraint, "conname")));
    } else if (kind == "CONSTR_UNIQUE") {
      NAMDB_SQL_CHECK(only(constraint, "UNIQUE", {"contype", "conname"}));
      definition.unique.push_back({std::string(text(constraint, "conname")), {column.name}});
    } else if (kind == "CONSTR_CHECK") {
      NAMDB_SQL_CHECK(add_check(constraint, column.name, definition));
    } else if (kind == "CONSTR_FOREIGN") {
      NAMDB_SQL_CHECK(add_foreign_key(constraint, column.name, definition));
    } else if (kind.starts_with("CONSTR_ATTR_")) {
      NAMDB_SQL_CHECK(add_attribute(kind, last, definition));
    } else if (kind == "CONSTR_IDENTITY") {
      if (std::exchange(is_identity, true)) {
        return Status(ErrorCode::syntax_error, "multiple identity specifications for column \"" +
                                                   column.name + "\" of table \"" + table + "\"");
      }
      if (is_generated) return both("identity", "generation expression");
      if (std::exchange(has_default, true)) return both("default", "identity");
      NAMDB_SQL_CHECK(add_identity(column, constraint, definition));
    } else if (kind == "CONSTR_DEFAULT") {
      if (is_identity) return both("default", "identity");
      if (is_generated) return both("default", "generation expression");
      if (std::exchange(has_default, true)) {
        return Status(ErrorCode::syntax_error, "multiple default values specified for column \"" +
                                                   column.name + "\" of table \"" + table + "\"");
      }
      NAMDB_SQL_CHECK(set_default(binder, column, *find(constraint, "raw_expr")));
    } else if (kind == "CONSTR_GENERATED") {
      if (is_identity) return both("identity", "generation expression");
      if (has_default) return both("default", "generation expression");
      if (std::exchange(is_generated, true)) {
        return Status(ErrorCode::syntax_error, "multiple generation clauses specified for column \"" +
                                                   column.name + "\" of table \"" + table + "\"");
      }
      definition.new_generated.push_back({column.name, &*sql::find(constraint, "raw_expr")});
    } else {
      return unsupported_constraint(kind);
    }
  }
  definition.columns.push_back(std::move(column));
  return {};
}

void add_row_id(Definition& definition) {
  layout::Column id;
  id.name = kRowIdColumn;
  id.type = layout::ColumnType::uuid;
  id.default_text = kUuidDefault;
  definition.key = {id.name};
  definition.columns.push_back(std::move(id));
}

Result<std::vector<std::uint32_t>> constraint_columns(const Definition& definition,
                                                      const std::vector<std::string>& names,
                                                      std::string_view constraint) {
  std::vector<std::uint32_t> positions;
  for (const std::string& name : names) {
    const auto column = std::ranges::find(definition.columns, name, &layout::Column::name);
    if (column == definition.columns.end()) {
      return Status(ErrorCode::undefined_column, "column \"" + name + "\" named in key does not exist");
    }
    const auto position = static_cast<std::uint32_t>(column - definition.columns.begin());
    if (std::ranges::find(positions, position) != positions.end()) {
      return Status(ErrorCode::duplicate_column,
                    "column \"" + name + "\" appears twice in " + std::string(constraint));
    }
    positions.push_back(position);
  }
  return positions;
}

Status add_unique(const Definition& definition, const std::vector<std::uint32_t>& key,
                  txn::TableDefinition& table) {
  const auto taken = [&](const std::string& name) {
    return std::ranges::any_of(table.unique, [&](const auto& other) { return other.name == name; }) ||
           std::ranges::any_of(definition.unique, [&](const auto& other) { return other.name == name; });
  };
  for (const Definition::Unique& unique : definition.unique) {
    NAMDB_SQL_ASSIGN(std::vector<std::uint32_t> columns,
                     constraint_columns(definition, unique.columns, "unique constraint"));
    for (const std::uint32_t column : columns)
      NAMDB_SQL_CHECK(check_index_column(definition.columns[column], false));
    const bool repeated = columns == key || std::ranges::any_of(table.unique, [&](const auto& other) {
                            return other.columns == columns;
                          });
    if (repeated) continue;
    std::string name = unique.name;
    if (name.empty()) {
      const std::vector<std::string_view> names(unique.columns.begin(), unique.columns.end());
      for (std::size_t i = 0; name.empty() || taken(name); ++i)
        name = index_name(table.name, names, i == 0 ? "key" : "key" + std::to_string(i));
    } else if (std::ranges::any_of(table.unique, [&](const auto& other) { return other.name == name; })) {
      return Status(ErrorCode::duplicate_table, "relation \"" + name + "\" already exists");
    }
    table.unique.push_back({std::move(name), std::move(columns)});
  }
  return {};
}

Status bind_table_constraint(const Json& body, Definition& definition) {
  const std::string_view kind = text(body, "contype");
  if (kind == "CONSTR_CHECK") return add_check(body, {}, definition);
  if (kind == "CONSTR_FOREIGN") return add_foreign_key(body, {}, definition);
  const bool unique = kind == "CONSTR_UNIQUE";
  if (kind != "CONSTR_PRIMARY" && !unique) return unsupported_constraint(kind);
  NAMDB_SQL_CHECK(only(body, unique ? "UNIQUE" : "PRIMARY KEY", {"contype", "conname", "keys"}));
  std::vector<std::string> key;
  for (const std::string_view column : names(list(body, "keys"))) key.emplace_back(column);
  if (!unique) return set_key(definition, std::move(key), text(body, "conname"));
  definition.unique.push_back({std::string(text(body, "conname")), std::move(key)});
  return {};
}

std::uint32_t default_room_bytes(const layout::Column& column, bool in_key) {
  layout::Column roomy = column;
  roomy.length_bytes = kRoom_bytes;
  return in_key || !layout::can_be_long(roomy) ? layout::kDefaultText_bytes : kRoom_bytes;
}

bool keys_have(const Definition& definition, std::string_view column) {
  const auto has = [column](const std::vector<std::string>& names) {
    return std::ranges::find(names, column) != names.end();
  };
  return has(definition.key) ||
         std::ranges::any_of(definition.unique, [&](const auto& unique) { return has(unique.columns); }) ||
         std::ranges::any_of(definition.foreign_keys, [&](const auto& key) { return has(key.columns); }) ||
         std::ranges::any_of(definition.new_foreign_keys, [&](const auto& key) { return has(key.columns); });
}

}  // namespace namdb::sql
