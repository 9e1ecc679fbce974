// CREATE TABLE.
#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compute/sql/bind/bind_column.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/system/server_table.h"
#include "compute/sql/system/virtual_table.h"
#include "compute/sql/value/called_default.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

struct UniqueColumns {
  std::string name;  // empty: to be chosen
  std::vector<std::string> columns;
};

struct Definition {
  std::vector<layout::Column> columns;
  std::vector<std::uint32_t> sequences;  // positions of columns that get one
  std::vector<std::string> key;
  std::string key_name;  // empty: to be chosen
  bool has_key = false;
  std::vector<UniqueColumns> unique;
};

Status set_key(Definition& definition, std::vector<std::string> key, std::string_view name,
               const std::string& table) {
  if (definition.has_key) {
    return Status(ErrorCode::invalid_table_definition,
                  "multiple primary keys for table \"" + table + "\" are not allowed");
  }
  definition.has_key = true;
  definition.key = std::move(key);
  definition.key_name = name;
  return {};
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

// A constraint that repeats the primary key or another one is dropped, as in PostgreSQL.
Status add_unique(const Definition& definition, const std::vector<std::uint32_t>& key,
                  txn::TableDefinition& table) {
  const auto taken = [&](const std::string& name) {
    return std::ranges::any_of(table.unique, [&](const auto& other) { return other.name == name; }) ||
           std::ranges::any_of(definition.unique, [&](const auto& other) { return other.name == name; });
  };
  for (const UniqueColumns& unique : definition.unique) {
    NAMDB_SQL_ASSIGN(std::vector<std::uint32_t> columns,
                     constraint_columns(definition, unique.columns, "unique constraint"));
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

void add_row_id(Definition& definition) {
  layout::Column id;
  id.name = kRowIdColumn;
  id.type = layout::ColumnType::uuid;
  id.default_text = kUuidDefault;
  definition.key = {id.name};
  definition.columns.push_back(std::move(id));
}

Status unsupported_constraint(std::string_view kind) {
  const std::string_view name = kind == "CONSTR_CHECK"       ? "CHECK"
                                : kind == "CONSTR_FOREIGN"   ? "a foreign key (REFERENCES)"
                                : kind == "CONSTR_GENERATED" ? "GENERATED ALWAYS AS"
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

// The column is the next one of the definition.
Status add_sequence(layout::Column& column, const std::string& table, bool always, Definition& definition) {
  if (column.type != layout::ColumnType::bigint && column.type != layout::ColumnType::integer &&
      column.type != layout::ColumnType::smallint) {
    return Status(ErrorCode::invalid_parameter_value,
                  "identity column type must be smallint, integer, or bigint");
  }
  const std::array<std::string_view, 1> names = {column.name};
  column.default_text = sequence_default_text({index_name(table, names, "seq"), always});
  column.not_null = true;
  definition.sequences.push_back(static_cast<std::uint32_t>(definition.columns.size()));
  return {};
}

Status bind_column_definition(StatementBinder& binder, const Json& body, const std::string& table,
                              Definition& definition) {
  NAMDB_SQL_CHECK(only(body, "a column definition", {"colname", "typeName", "constraints", "is_local"}));
  layout::Column column;
  column.name = text(body, "colname");
  if (column.name == kRowIdColumn) {
    return Status(ErrorCode::duplicate_column,
                  "column name \"" + column.name + "\" conflicts with a system column name");
  }
  const bool taken = std::ranges::any_of(
      definition.columns, [&](const layout::Column& other) { return other.name == column.name; });
  if (taken) {
    return Status(ErrorCode::duplicate_column, "column \"" + column.name + "\" specified more than once");
  }
  const Json& named = *find(body, "typeName");
  const std::optional<TypeId> serial = serial_type(named);
  const Result<Type> found = serial ? Result<Type>(Type{*serial}) : bind_type(named);
  if (!found.ok()) return located(binder.input.place, named, found.status());
  const Type type = *found;
  NAMDB_SQL_CHECK(set_column_type(column, type));
  bool null = false;
  bool has_default = serial.has_value();
  bool is_identity = false;
  if (serial) NAMDB_SQL_CHECK(add_sequence(column, table, /*always=*/false, definition));
  const auto both = [&] {
    return Status(ErrorCode::syntax_error, "both default and identity specified for column \"" + column.name +
                                               "\" of table \"" + table + "\"");
  };
  for (const Json& item : list(body, "constraints")) {
    const Json& constraint = *node(item).body;
    const std::string_view kind = text(constraint, "contype");
    if (kind == "CONSTR_NOTNULL" || kind == "CONSTR_NULL") {
      (kind == "CONSTR_NULL" ? null : column.not_null) = true;
      if (null && column.not_null) {
        return Status(ErrorCode::syntax_error, "conflicting NULL/NOT NULL declarations for column \"" +
                                                   column.name + "\" of table \"" + table + "\"");
      }
    } else if (kind == "CONSTR_PRIMARY") {
      NAMDB_SQL_CHECK(only(constraint, "PRIMARY KEY", {"contype", "conname"}));
      NAMDB_SQL_CHECK(set_key(definition, {column.name}, text(constraint, "conname"), table));
    } else if (kind == "CONSTR_UNIQUE") {
      NAMDB_SQL_CHECK(only(constraint, "UNIQUE", {"contype", "conname"}));
      definition.unique.push_back({std::string(text(constraint, "conname")), {column.name}});
    } else if (kind == "CONSTR_IDENTITY") {
      if (!list(constraint, "options").empty()) return unsupported("an option of GENERATED AS IDENTITY");
      if (std::exchange(is_identity, true)) {
        return Status(ErrorCode::syntax_error, "multiple identity specifications for column \"" +
                                                   column.name + "\" of table \"" + table + "\"");
      }
      if (std::exchange(has_default, true)) return both();
      const bool always = text(constraint, "generated_when") == "a";
      NAMDB_SQL_CHECK(add_sequence(column, table, always, definition));
    } else if (kind == "CONSTR_DEFAULT") {
      if (is_identity) return both();
      if (std::exchange(has_default, true)) {
        return Status(ErrorCode::syntax_error, "multiple default values specified for column \"" +
                                                   column.name + "\" of table \"" + table + "\"");
      }
      NAMDB_SQL_CHECK(set_default(binder, column, *find(constraint, "raw_expr")));
    } else {
      return unsupported_constraint(kind);
    }
  }
  definition.columns.push_back(std::move(column));
  return {};
}

// PARTITION BY HASH: the columns whose values choose a row's memory server.
Result<std::vector<std::uint32_t>> bind_partition(const Json& spec,
                                                  const std::vector<layout::Column>& columns,
                                                  const std::vector<std::uint32_t>& key,
                                                  const std::string& table) {
  const std::string_view strategy = text(spec, "strategy");
  if (strategy == "list") return unsupported("PARTITION BY LIST");
  if (strategy == "range") return unsupported("PARTITION BY RANGE");
  if (strategy != "hash") {
    return Status(ErrorCode::invalid_parameter_value,
                  "unrecognized partitioning strategy \"" + std::string(strategy) + "\"");
  }
  std::vector<std::uint32_t> partition;
  for (const Json& item : list(spec, "partParams")) {
    const Json& element = *node(item).body;
    if (find(element, "expr") != nullptr) return unsupported("PARTITION BY an expression");
    NAMDB_SQL_CHECK(only(element, "PARTITION BY", {"name"}));
    const std::string_view name = text(element, "name");
    const auto column = std::ranges::find(columns, name, &layout::Column::name);
    if (column == columns.end()) {
      return Status(ErrorCode::undefined_column,
                    "column \"" + std::string(name) + "\" named in partition key does not exist");
    }
    const auto position = static_cast<std::uint32_t>(column - columns.begin());
    if (std::ranges::find(partition, position) != partition.end()) {
      return Status(ErrorCode::duplicate_column,
                    "column \"" + column->name + "\" appears twice in partition key");
    }
    if (std::ranges::find(key, position) == key.end()) {
      return Status(ErrorCode::feature_not_supported,
                    "unique constraint on partitioned table must include all partitioning columns",
                    "PRIMARY KEY constraint on table \"" + table + "\" lacks column \"" + column->name +
                        "\" which is part of the partition key.");
    }
    if (column->type == layout::ColumnType::numeric || column->is_real()) {
      return unsupported("PARTITION BY HASH of a column of type " +
                         std::string(layout::column_type_name(column->type)));
    }
    partition.push_back(position);
  }
  return partition;
}

struct Options {
  txn::TableDefinition& table;
  std::uint32_t text_bytes = 0;
  bool ordered_key = true;
};

// WITH (primary_key = hash): in no order, and without an index beside the table.
Status bind_key_option(const Json& element, Options& options) {
  std::string_view method;
  if (const Json* argument = find(element, "arg")) {
    const Node value = node(*argument);
    if (value.kind == "String") method = text(*value.body, "sval");
    if (value.kind == "TypeName") {
      const std::vector<std::string_view> parts = names(list(*value.body, "names"));
      method = parts.empty() ? std::string_view() : parts.back();
    }
  }
  if (method != "hash" && method != "btree") {
    return Status(ErrorCode::invalid_parameter_value,
                  "invalid value for enum option \"primary_key\": " + std::string(method),
                  "Valid values are \"btree\" and \"hash\".");
  }
  options.ordered_key = method == "btree";
  return {};
}

Status bind_option(const Json& element, Options& options) {
  const std::string_view name = text(element, "defname");
  if (name == "primary_key") return bind_key_option(element, options);
  std::string_view digits;
  std::string number;
  if (const Json* argument = find(element, "arg")) {
    const Node value = node(*argument);
    if (value.kind == "Integer") {
      number = std::to_string(integer(*value.body, "ival"));
      digits = number;
    } else if (value.kind == "Float") {
      digits = text(*value.body, "fval");
    } else if (value.kind == "String") {
      digits = text(*value.body, "sval");
    }
  }
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || stop != digits.data() + digits.size() || digits.empty()) {
    return Status(ErrorCode::invalid_parameter_value,
                  "invalid value for storage parameter \"" + std::string(name) + "\": a number is expected");
  }
  struct Bound {
    std::string_view name;
    std::uint64_t least;
    std::uint64_t most;
  };
  constexpr std::array kBounds = {
      Bound{"size_hint", 1, std::uint64_t{1} << 40}, Bound{"ring_versions", 1, 1024},
      Bound{"text_bytes", 1, layout::kMaxString_bytes}, Bound{"fillfactor", 10, 100}};
  for (const Bound& bound : kBounds) {
    if (bound.name != name) continue;
    if (value < bound.least || value > bound.most) {
      return Status(
          ErrorCode::invalid_parameter_value,
          "value " + std::string(digits) + " out of bounds for option \"" + std::string(name) + "\"",
          "Valid values are between \"" + std::to_string(bound.least) + "\" and \"" +
              std::to_string(bound.most) + "\".");
    }
    if (name == "size_hint") options.table.size_hint_rows = value;
    if (name == "ring_versions") options.table.ring_slots = static_cast<std::uint32_t>(value);
    if (name == "text_bytes") options.text_bytes = static_cast<std::uint32_t>(value);
    return {};
  }
  return Status(ErrorCode::invalid_parameter_value, "unrecognized parameter \"" + std::string(name) + "\"",
                "size_hint, ring_versions, text_bytes and primary_key are known");
}

}  // namespace

Result<Plan> bind_create_table(StatementBinder& binder, const Json& body) {
  if (find(body, "partbound") != nullptr) return unsupported("PARTITION OF");
  NAMDB_SQL_CHECK(only(body, "CREATE TABLE",
                       {"relation", "tableElts", "partspec", "options", "oncommit", "if_not_exists"}));
  CreateTablePlan create;
  const Json& relation = *find(body, "relation");
  NAMDB_SQL_CHECK(check_schema(text(relation, "schemaname")));
  NAMDB_SQL_ASSIGN(create.table.name, relation_name(relation));
  // UNLOGGED ('u') promises less durability than namdb gives.
  if (create.table.name.size() > 63)
    return Status(ErrorCode::limit_exceeded, "a table's name can have at most 63 bytes");
  if (find_virtual_table("", create.table.name) != nullptr) {
    return Status(ErrorCode::duplicate_table, "relation \"" + create.table.name + "\" already exists");
  }
  if (const ServerTable* const own = find_server_table(create.table.name)) {
    return Status(ErrorCode::insufficient_privilege, "permission denied to create table " + create.table.name,
                  "the server makes it by itself, with " + std::string(own->made_with));
  }
  create.if_not_exists = flag(body, "if_not_exists");
  Definition definition;
  for (const Json& item : list(body, "tableElts")) {
    const Node element = node(item);
    if (element.kind == "ColumnDef") {
      NAMDB_SQL_CHECK(bind_column_definition(binder, *element.body, create.table.name, definition));
      continue;
    }
    if (element.kind != "Constraint") return unsupported(element);
    const std::string_view kind = text(*element.body, "contype");
    const bool unique = kind == "CONSTR_UNIQUE";
    if (kind != "CONSTR_PRIMARY" && !unique) return unsupported_constraint(kind);
    NAMDB_SQL_CHECK(only(*element.body, unique ? "UNIQUE" : "PRIMARY KEY", {"contype", "conname", "keys"}));
    std::vector<std::string> key;
    for (const std::string_view column : names(list(*element.body, "keys"))) key.emplace_back(column);
    if (unique) {
      definition.unique.push_back({std::string(text(*element.body, "conname")), std::move(key)});
      continue;
    }
    NAMDB_SQL_CHECK(set_key(definition, std::move(key), text(*element.body, "conname"), create.table.name));
  }
  Options options{create.table};
  if (!definition.has_key) {
    add_row_id(definition);
    options.ordered_key = false;
  }
  for (const Json& item : list(body, "options")) NAMDB_SQL_CHECK(bind_option(*node(item).body, options));
  NAMDB_SQL_ASSIGN(std::vector<std::uint32_t> key,
                   constraint_columns(definition, definition.key, "primary key constraint"));
  if (options.ordered_key) {
    create.table.ordered_key =
        definition.key_name.empty() ? index_name(create.table.name, {}, "pkey") : definition.key_name;
  }
  NAMDB_SQL_CHECK(add_unique(definition, key, create.table));
  std::vector<std::uint32_t> partition;
  if (const Json* spec = find(body, "partspec"); spec != nullptr) {
    NAMDB_SQL_ASSIGN(partition, bind_partition(*spec, definition.columns, key, create.table.name));
  }
  for (layout::Column& column : definition.columns) {
    const bool unbounded = column.is_string() && column.length_bytes == 0;
    if (unbounded && options.text_bytes != 0) column.length_bytes = options.text_bytes;
  }
  create.sequences = std::move(definition.sequences);
  NAMDB_SQL_ASSIGN(create.table.schema, layout::Schema::create(std::move(definition.columns), std::move(key),
                                                               std::move(partition)));
  Plan plan;
  plan.tag = "CREATE TABLE";
  plan.body = std::move(create);
  return plan;
}

}  // namespace namdb::sql
