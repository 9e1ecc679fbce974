#include "compute/sql/bind/bind_statement.h"

#include <nlohmann/json.hpp>

#include "compute/api/long_value_tables.h"
#include "compute/sql/bind/bind_generated.h"
#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/catalog/temporary_name.h"
#include "compute/sql/plan/key_path.h"
#include "compute/sql/system/server_table.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {
namespace {

Status system_catalog(std::string_view name) {
  return Status(ErrorCode::feature_not_supported, "system catalog " + std::string(name) + " is not supported",
                "namdb_tables and namdb_columns tell what tables there are");
}

}  // namespace

Result<std::string> relation_name(const Json& range_var) {
  NAMDB_SQL_CHECK(only(range_var, "a table name",
                       {"schemaname", "relname", "inh", "relpersistence", "alias", "catalogname"}));
  const std::string_view schema = text(range_var, "schemaname");
  const std::string_view name = text(range_var, "relname");
  if (!text(range_var, "catalogname").empty()) return unsupported("a name with a database");
  if (text(range_var, "relpersistence") == "t") return unsupported("a temporary table");
  if (schema == "pg_catalog" || schema == "information_schema") return system_catalog(name);
  if (storage::keeps_long_values(name))
    return Status(ErrorCode::undefined_table, "relation \"" + std::string(name) + "\" does not exist");
  if (!schema.empty() && schema != "public") {
    return Status(ErrorCode::undefined_table,
                  "relation \"" + std::string(schema) + "." + std::string(name) + "\" does not exist",
                  "the one schema is public");
  }
  return std::string(name);
}

namespace {

Result<storage::TableRef> find_table(const StatementBinder& binder, const Json& range_var) {
  NAMDB_SQL_ASSIGN(const std::string name, relation_name(range_var));
  const auto table = binder.input.tables.find(name);
  if (table == binder.input.tables.end()) {
    if (binder.input.views.contains(name))
      return Status(ErrorCode::wrong_object_type, "\"" + name + "\" is not a table");
    if (find_virtual_table("", name) != nullptr) {
      return Status(ErrorCode::insufficient_privilege,
                    "permission denied for table " + name + ": it can only be read");
    }
    if (is_temporary(name)) {
      return Status(
          ErrorCode::undefined_table, "relation \"" + std::string(without_prefix(name)) + "\" does not exist",
          "the session has made a temporary table of that name, which has gone with the connection to "
          "the memory servers; create it again, or DROP TABLE IF EXISTS it");
    }
    if (name.starts_with("pg_")) return system_catalog(name);
    return Status(ErrorCode::undefined_table, "relation \"" + name + "\" does not exist");
  }
  return table->second;
}

}  // namespace

Result<storage::TableRef> bind_table(const StatementBinder& binder, const Json& range_var) {
  Result<storage::TableRef> table = find_table(binder, range_var);
  if (!table.ok()) return located(binder.input.place, range_var, table.status());
  return table;
}

Status check_changeable(const std::string& table) {
  const ServerTable* const own = find_server_table(table);
  if (own == nullptr) return {};
  return Status(ErrorCode::insufficient_privilege,
                "permission denied for table " + table + ": it can only be read",
                "the server writes it by itself; " + std::string(own->changed_by));
}

Result<storage::TableRef> bind_changed_table(StatementBinder& binder, const Json& range_var) {
  Result<storage::TableRef> table = bind_table(binder, range_var);
  if (!table.ok()) return table;
  binder.writes.push_back((*table)->id);
  Status status = check_changeable((*table)->name);
  if (!status.ok()) return located(binder.input.place, range_var, std::move(status));
  return table;
}

std::span<const storage::IndexRef> indexes_of(const BindInput& input, const Source& source) {
  const auto found = input.indexes.find(source.table.get());
  if (found == input.indexes.end()) return {};
  return found->second;
}

Result<Source> bind_relation_source(StatementBinder& binder, const Json& range_var) {
  Source source;
  const std::string_view schema = text(range_var, "schemaname");
  const std::string_view relation = text(range_var, "relname");
  const Json* alias = find(range_var, "alias");
  const bool stored = binder.input.tables.contains(relation) && (schema.empty() || schema == "public");
  if (!stored) source.virtual_table = find_virtual_table(schema, relation);
  if (source.virtual_table == nullptr) {
    NAMDB_SQL_ASSIGN(source.table, bind_table(binder, range_var));
    NAMDB_SQL_ASSIGN(source.index_expressions, bind_index_expressions(binder, *source.table));
    binder.reads_tables = true;
    binder.reads.push_back(source.table->id);
  }
  source.name = relation;
  if (alias != nullptr) {
    NAMDB_SQL_CHECK(only(*alias, "an alias", {"aliasname", "colnames"}));
    source.name = text(*alias, "aliasname");
  }
  return source;
}

Result<Source> bind_source(StatementBinder& binder, ExpressionBinder& expressions, const Json& range_var,
                           const Json* where) {
  NAMDB_SQL_ASSIGN(Source source, bind_relation_source(binder, range_var));
  expressions.set_scope(scope_of(source));
  NAMDB_SQL_CHECK(bind_where(expressions, where, source.filter));
  find_key(source);
  return source;
}

}  // namespace namdb::sql
