// CREATE INDEX and REINDEX; and DROP of tables and indexes.
#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "compute/api/long_value_tables.h"
#include "compute/sql/bind/bind_column.h"
#include "compute/sql/bind/bind_enumeration.h"
#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/bind_index_columns.h"
#include "compute/sql/bind/bind_routine.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/bind/table_draft.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxName_bytes = 63;

// Cut to a length, at the end of a character.
std::string_view clipped(std::string_view name, std::size_t bytes) {
  if (name.size() <= bytes) return name;
  while (bytes > 0 && !begins_character(name[bytes])) --bytes;
  return name.substr(0, bytes);
}

// An operator class: that of a type, or one by which strings compare byte by byte, as all do here.
struct OperatorClass {
  std::string_view name;
  TypeId type;
};
constexpr std::array kOperatorClasses = {OperatorClass{"bool_ops", TypeId::boolean},
                                         OperatorClass{"bpchar_ops", TypeId::bpchar},
                                         OperatorClass{"bpchar_pattern_ops", TypeId::bpchar},
                                         OperatorClass{"bytea_ops", TypeId::bytea},
                                         OperatorClass{"date_ops", TypeId::date},
                                         OperatorClass{"enum_ops", TypeId::unknown},  // of all enumerations
                                         OperatorClass{"float4_ops", TypeId::float4},
                                         OperatorClass{"float8_ops", TypeId::float8},
                                         OperatorClass{"int2_ops", TypeId::int2},
                                         OperatorClass{"int4_ops", TypeId::int4},
                                         OperatorClass{"int8_ops", TypeId::int8},
                                         OperatorClass{"interval_ops", TypeId::interval},
                                         OperatorClass{"numeric_ops", TypeId::numeric},
                                         OperatorClass{"text_ops", TypeId::text},
                                         OperatorClass{"text_pattern_ops", TypeId::text},
                                         OperatorClass{"time_ops", TypeId::time},
                                         OperatorClass{"timestamp_ops", TypeId::timestamp},
                                         OperatorClass{"timestamptz_ops", TypeId::timestamptz},
                                         OperatorClass{"timetz_ops", TypeId::timetz},
                                         OperatorClass{"uuid_ops", TypeId::uuid},
                                         OperatorClass{"varchar_ops", TypeId::text},
                                         OperatorClass{"varchar_pattern_ops", TypeId::text}};

Status check_operator_class(const Json& body, const layout::Column& column, bool hash) {
  const std::string_view name = name_in_catalog(list(body, "opclass"));
  const auto found = std::ranges::find(kOperatorClasses, name, &OperatorClass::name);
  if (found == kOperatorClasses.end()) {
    return Status(ErrorCode::undefined_object, "operator class \"" + std::string(name) +
                                                   "\" does not exist for access method \"" +
                                                   (hash ? "hash" : "btree") + "\"");
  }
  const TypeId type = column_type(column).id;
  if (name == "enum_ops" && Type{type}.is_enumeration()) return {};
  if (type == found->type || (type == TypeId::varchar && found->type == TypeId::text)) return {};
  return Status(ErrorCode::datatype_mismatch, "operator class \"" + std::string(name) +
                                                  "\" does not accept data type " +
                                                  std::string(type_name(type)));
}

Result<layout::IndexColumn> bind_index_column(const storage::Table& table, const Json& body, bool hash) {
  NAMDB_SQL_CHECK(only(body, "CREATE INDEX", {"name", "ordering", "nulls_ordering", "opclass"}));
  const std::string_view name = text(body, "name");
  const std::optional<std::uint32_t> column = table.schema.find(name);
  if (!column) {
    return Status(ErrorCode::undefined_column, "column \"" + std::string(name) + "\" does not exist");
  }
  NAMDB_SQL_ASSIGN(const bool descending, bind_index_order(body, table.schema.columns()[*column], hash));
  return layout::IndexColumn{*column, descending};
}

// The column of a hash index.
Status check_no_order(const Json& body) {
  const auto given = [&body](const char* what, std::string_view none) {
    const std::string_view value = text(body, what);
    return !value.empty() && value != none;
  };
  if (given("ordering", "SORTBY_DEFAULT"))
    return Status(ErrorCode::feature_not_supported,
                  "access method \"hash\" does not support ASC/DESC options");
  if (given("nulls_ordering", "SORTBY_NULLS_DEFAULT"))
    return Status(ErrorCode::feature_not_supported,
                  "access method \"hash\" does not support NULLS FIRST/LAST options");
  return {};
}

}  // namespace

Result<bool> bind_index_order(const Json& element, const layout::Column& column, bool hash) {
  if (hash) NAMDB_SQL_CHECK(check_no_order(element));
  if (find(element, "opclass") != nullptr) NAMDB_SQL_CHECK(check_operator_class(element, column, hash));
  const bool descending = text(element, "ordering") == "SORTBY_DESC";
  const std::string_view nulls = text(element, "nulls_ordering");
  const std::string_view other = descending ? "SORTBY_NULLS_LAST" : "SORTBY_NULLS_FIRST";
  if (nulls == other && !column.not_null) {
    return Status(ErrorCode::feature_not_supported,
                  "NULLS FIRST of an ascending and NULLS LAST of a descending column are not supported",
                  "in an index NULL sorts as the greatest value");
  }
  return descending;
}

Status check_schema(std::string_view schema) {
  if (schema.empty() || schema == "public") return {};
  if (schema == "pg_catalog" || schema == "information_schema") {
    return Status(ErrorCode::insufficient_privilege, "permission denied for schema " + std::string(schema));
  }
  return Status(ErrorCode::undefined_schema, "schema \"" + std::string(schema) + "\" does not exist",
                "the one schema is public");
}

// When the name is too long, the longer one of table and columns is cut, byte by byte.
std::string index_name(std::string_view table, std::span<const std::string_view> columns,
                       std::string_view label) {
  std::string joined;
  for (const std::string_view column : columns) joined += (joined.empty() ? "" : "_") + std::string(column);
  joined = clipped(joined, kMaxName_bytes);
  std::size_t table_bytes = table.size();
  std::size_t column_bytes = joined.size();
  while (table_bytes + column_bytes + label.size() + 2 > kMaxName_bytes)
    --(table_bytes > column_bytes ? table_bytes : column_bytes);
  const std::string middle =
      joined.empty() ? std::string() : "_" + std::string(clipped(joined, column_bytes));
  return std::string(clipped(table, table_bytes)) + middle + "_" + std::string(label);
}

namespace {

// With CONCURRENTLY rows are not copied. Otherwise the table is made anew if columns have little room.
Status bind_room(StatementBinder& binder, const std::vector<std::string_view>& columns,
                 CreateIndexPlan& create) {
  Result<TableDraft> draft = TableDraft::of(binder, create.table);
  // The index is made of the table as it is, where another one is being built.
  if (!draft.ok()) return {};
  bool changes = false;
  for (const std::string_view column : columns) changes = draft->make_room(column) || changes;
  if (!changes) return {};
  NAMDB_SQL_ASSIGN(AlterTablePlan plan, std::move(*draft).finish());
  create.room = std::make_shared<const AlterTablePlan>(std::move(plan));
  return {};
}

}  // namespace

Result<Plan> bind_create_index(StatementBinder& binder, const Json& body) {
  if (find(body, "indexIncludingParams") != nullptr) return unsupported("CREATE INDEX with INCLUDE");
  NAMDB_SQL_CHECK(only(body, "CREATE INDEX",
                       {"idxname", "relation", "accessMethod", "indexParams", "whereClause", "unique",
                        "concurrent", "if_not_exists"}));
  const std::string_view method = text(body, "accessMethod");
  if (!method.empty() && method != "btree" && method != "hash")
    return unsupported("index method " + std::string(method));
  CreateIndexPlan create;
  create.hash = method == "hash";
  const std::string_view relation = text(*find(body, "relation"), "relname");
  if (!binder.input.tables.contains(relation) && binder.input.views.contains(relation)) {
    return detailed(binder.input.place,
                    Status(ErrorCode::wrong_object_type,
                           "cannot create index on relation \"" + std::string(relation) + "\""),
                    "This operation is not supported for views.");
  }
  NAMDB_SQL_ASSIGN(create.table, bind_changed_table(binder, *find(body, "relation")));
  // CONCURRENTLY or not, others go on writing.
  create.unique = flag(body, "unique");
  create.if_not_exists = flag(body, "if_not_exists");
  create.name = text(body, "idxname");
  if (storage::keeps_long_values(create.name)) return unsupported("a name that begins with this character");
  create.name_is_chosen = create.name.empty();
  Plan plan;
  plan.tag = "CREATE INDEX";
  if (needs_index_columns(body)) {
    NAMDB_SQL_CHECK(bind_index_columns(binder, body, create));
    plan.body = std::move(create);
    return plan;
  }
  std::vector<std::string_view> names;
  for (const Json& item : list(body, "indexParams")) {
    const Json& element = *node(item).body;
    NAMDB_SQL_ASSIGN(const layout::IndexColumn column,
                     bind_index_column(*create.table, element, create.hash));
    NAMDB_SQL_CHECK(check_index_column(create.table->schema.columns()[column.column], create.hash));
    const bool twice = std::ranges::any_of(
        create.columns, [&](const layout::IndexColumn& other) { return other.column == column.column; });
    if (twice) return unsupported("an index that has a column twice");
    create.columns.push_back(column);
    names.push_back(text(element, "name"));
  }
  if (!flag(body, "concurrent")) NAMDB_SQL_CHECK(bind_room(binder, names, create));
  if (create.name_is_chosen) create.name = index_name(create.table->name, names, "idx");
  plan.body = std::move(create);
  return plan;
}

Result<Plan> bind_reindex(const Json& body) {
  const std::string_view kind = text(body, "kind");
  const bool of_table = kind == "REINDEX_OBJECT_TABLE";
  if (kind == "REINDEX_OBJECT_SCHEMA") return unsupported("REINDEX SCHEMA");
  if (kind == "REINDEX_OBJECT_SYSTEM") return unsupported("REINDEX SYSTEM");
  if (kind == "REINDEX_OBJECT_DATABASE") return unsupported("REINDEX DATABASE");
  NAMDB_SQL_CHECK(only(body, "REINDEX", {"kind", "relation", "params"}));
  // CONCURRENTLY or not, others go on writing.
  for (const Json& item : list(body, "params")) {
    const std::string_view option = text(*node(item).body, "defname");
    if (option != "concurrently") return unsupported("REINDEX (" + std::string(option) + ")");
  }
  ReindexPlan reindex;
  NAMDB_SQL_ASSIGN(reindex.name, relation_name(*find(body, "relation")));
  reindex.of_table = of_table;
  Plan plan;
  plan.tag = "REINDEX";
  plan.body = std::move(reindex);
  return plan;
}

Result<Plan> bind_drop(StatementBinder& binder, const Json& body) {
  std::string_view kind = text(body, "removeType");
  if (kind == "OBJECT_PROCEDURE" || kind == "OBJECT_ROUTINE" || kind == "OBJECT_FUNCTION")
    return bind_drop_routine(body, binder.input.facts);
  if (kind == "OBJECT_TYPE") return bind_drop_types(body);
  const bool index = kind == "OBJECT_INDEX";
  const bool sequence = kind == "OBJECT_SEQUENCE";
  const bool view = kind == "OBJECT_VIEW";
  NAMDB_SQL_CHECK(only(body, index ? "DROP INDEX" : "DROP TABLE",
                       {"objects", "removeType", "behavior", "missing_ok", "concurrent"}));
  if (kind == "OBJECT_MATVIEW") return unsupported("DROP MATERIALIZED VIEW");
  if (kind != "OBJECT_TABLE" && !index && !sequence && !view) {
    if (kind.starts_with("OBJECT_")) kind.remove_prefix(7);
    return unsupported("DROP " + std::string(kind));
  }
  if (sequence && text(body, "behavior") == "DROP_CASCADE") return unsupported("DROP SEQUENCE ... CASCADE");
  const bool if_exists = flag(body, "missing_ok");
  std::string missing;  // a schema
  std::vector<std::string> wanted;
  for (const Json& item : list(body, "objects")) {
    const std::vector<std::string_view> parts = names(list(*node(item).body, "items"));
    if (parts.empty() || parts.size() > 2) return unsupported("a name with a database");
    const Status status = parts.size() == 2 ? check_schema(parts[0]) : Status();
    if (if_exists && !status.ok() && status.code() == ErrorCode::undefined_schema) {
      missing = status.message();
      continue;
    }
    NAMDB_SQL_CHECK(status);
    wanted.emplace_back(parts.back());
  }
  Plan plan;
  if (wanted.empty()) {
    plan.tag = sequence ? "DROP SEQUENCE" : view ? "DROP VIEW" : index ? "DROP INDEX" : "DROP TABLE";
    plan.body = NothingPlan{missing + ", skipping"};
    return plan;
  }
  if (sequence) return drop_sequences(std::move(wanted), if_exists);
  if (view) return drop_views(std::move(wanted), if_exists, text(body, "behavior") == "DROP_CASCADE");
  if (index) {
    plan.tag = "DROP INDEX";
    plan.body = DropIndexPlan{std::move(wanted), if_exists, text(body, "behavior") == "DROP_CASCADE"};
  } else {
    plan.tag = "DROP TABLE";
    plan.body = DropTablePlan{std::move(wanted), if_exists, text(body, "behavior") == "DROP_CASCADE"};
  }
  return plan;
}

}  // namespace namdb::sql
