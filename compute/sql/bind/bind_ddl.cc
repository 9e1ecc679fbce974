// CREATE TABLE.
#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compute/sql/bind/bind_definition.h"
#include "compute/sql/bind/bind_generated.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/catalog/temporary_name.h"
#include "compute/sql/system/server_table.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {
namespace {

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
    if (column->type == layout::ColumnType::numeric || column->is_real() || !column->can_be_key()) {
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
  if (name == "oids") {
    // As in PostgreSQL: only the word for none is left.
    const Json* const argument = find(element, "arg");
    const Node value = argument == nullptr ? Node{} : node(*argument);
    const bool none = value.kind == "String" && text(*value.body, "sval") == "false";
    return none ? Status()
                : Status(ErrorCode::feature_not_supported, "tables declared WITH OIDS are not supported");
  }
  // They say how PostgreSQL keeps its files.
  if (name.starts_with("autovacuum_") || name.starts_with("vacuum_") || name.starts_with("log_autovacuum_") ||
      name == "toast_tuple_target" || name == "parallel_workers" || name == "user_catalog_table" ||
      text(element, "defnamespace") == "toast")
    return {};
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
  const std::string_view on_commit = text(body, "oncommit");
  const bool temporary = is_temporary(text(*find(body, "relation"), "relname"));
  if (!on_commit.empty() && on_commit != "ONCOMMIT_NOOP" && !temporary)
    return Status(ErrorCode::invalid_table_definition, "ON COMMIT can only be used on temporary tables");
  CreateTablePlan create;
  const Json& relation = *find(body, "relation");
  NAMDB_SQL_CHECK(check_schema(text(relation, "schemaname")));
  NAMDB_SQL_ASSIGN(create.table.name, relation_name(relation));
  // UNLOGGED ('u') promises less durability than namdb gives.
  if (without_prefix(create.table.name).size() > 63)
    return Status(ErrorCode::limit_exceeded, "a table's name can have at most 63 bytes");
  if (find_virtual_table("", create.table.name) != nullptr) {
    return Status(ErrorCode::duplicate_table, "relation \"" + create.table.name + "\" already exists");
  }
  if (const ServerTable* const own = find_server_table(create.table.name)) {
    return Status(ErrorCode::insufficient_privilege, "permission denied to create table " + create.table.name,
                  "the server makes it by itself, with " + std::string(own->made_with));
  }
  create.if_not_exists = flag(body, "if_not_exists");
  create.drops_at_commit = on_commit == "ONCOMMIT_DROP";
  create.is_emptied = on_commit == "ONCOMMIT_DELETE_ROWS";
  Definition definition;
  definition.table = create.table.name;
  for (const Json& item : list(body, "tableElts")) {
    const Node element = node(item);
    if (element.kind == "ColumnDef") {
      NAMDB_SQL_CHECK(bind_column_definition(binder, *element.body, definition));
    } else if (element.kind == "Constraint") {
      NAMDB_SQL_CHECK(bind_table_constraint(*element.body, definition));
    } else {
      return unsupported(element);
    }
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
  if (definition.key_name.empty()) create.chosen_names.insert(create.table.ordered_key);
  for (const txn::UniqueConstraint& unique : create.table.unique) {
    if (std::ranges::find(definition.unique, unique.name, &Definition::Unique::name) ==
        definition.unique.end())
      create.chosen_names.insert(unique.name);
  }
  std::vector<std::uint32_t> partition;
  if (const Json* spec = find(body, "partspec"); spec != nullptr) {
    NAMDB_SQL_ASSIGN(partition, bind_partition(*spec, definition.columns, key, create.table.name));
  }
  NAMDB_SQL_CHECK(bind_new_generated(binder, definition));
  for (layout::Column& column : definition.columns) {
    const bool in_key = keys_have(definition, column.name);
    if (column.is_string() && column.type != layout::ColumnType::uuid && column.length_bytes == 0)
      column.length_bytes = options.text_bytes != 0 ? options.text_bytes : default_room_bytes(column, in_key);
  }
  NAMDB_SQL_ASSIGN(create.table.checks, bind_checks(binder, definition));
  NAMDB_SQL_ASSIGN(create.table.foreign_keys, bind_foreign_keys(binder, definition, {}));
  NAMDB_SQL_ASSIGN(create.sequences, constraint_columns(definition, definition.sequences, "the sequences"));
  create.sequence_options = definition.sequence_options;
  NAMDB_SQL_ASSIGN(create.table.schema, layout::Schema::create(std::move(definition.columns), std::move(key),
                                                               std::move(partition)));
  Plan plan;
  plan.tag = "CREATE TABLE";
  plan.body = std::move(create);
  return plan;
}

}  // namespace namdb::sql
