#include "compute/sql/system/virtual_table.h"

#include <array>

#include "compute/api/long_value_tables.h"
#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/catalog/system_relations.h"
#include "compute/sql/catalog/temporary_name.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/session_directory.h"
#include "compute/sql/system/keywords.h"
#include "compute/sql/system/statistics.h"
#include "compute/sql/value/row_id.h"

namespace namdb::sql {
namespace {

using reactor::Task;

Datum text_of(Arena& arena, std::string_view text) {
  return Datum::of_text(arena.copy(text));
}

Task<Result<VirtualRows>> statistics_rows(VirtualTableInput input) {
  VirtualRows rows;
  for (const Statistics::Row& row : input.statistics->rows()) {
    rows.push_back({text_of(*input.arena, row.name), text_of(*input.arena, row.metric),
                    Datum::of_integer(static_cast<std::int64_t>(row.value))});
  }
  co_return rows;
}

Task<Result<VirtualRows>> fabric_rows(VirtualTableInput input) {
  VirtualRows rows;
  for (const fabric::ConnectionFacts& connection : input.engine->fabric_facts()) {
    for (const fabric::Fact& fact : connection.facts.all()) {
      const bool is_text = !fact.text.empty();
      rows.push_back({Datum::of_integer(connection.worker), Datum::of_integer(connection.memory_server),
                      text_of(*input.arena, fact.name), is_text ? text_of(*input.arena, fact.text) : Datum(),
                      is_text ? Datum() : Datum::of_integer(static_cast<std::int64_t>(fact.amount))});
    }
  }
  co_return rows;
}

Task<Result<VirtualRows>> procedures_rows(VirtualTableInput input) {
  Result<std::vector<storage::RoutineRef>> routines = co_await input.engine->routines();
  if (!routines.ok()) co_return routines.status();
  VirtualRows rows;
  for (const storage::RoutineRef& routine : *routines) {
    if (!is_procedure(*routine)) continue;
    rows.push_back({Datum::of_text("public"), text_of(*input.arena, routine->name),
                    text_of(*input.arena, routine->definition)});
  }
  co_return rows;
}

Task<Result<VirtualRows>> tables_rows(VirtualTableInput input) {
  Result<std::vector<storage::TableRef>> tables = co_await input.engine->tables();
  if (!tables.ok()) co_return tables.status();
  VirtualRows rows;
  for (const storage::TableRef& table : *tables) {
    if (storage::keeps_long_values(table->name) || is_temporary(table->name)) continue;
    std::string partition;
    for (const std::uint32_t column : table->schema.partition()) {
      partition += (partition.empty() ? "" : ", ") + table->schema.columns()[column].name;
    }
    rows.push_back({Datum::of_text("public"), text_of(*input.arena, table->name),
                    Datum::of_integer(table->id),
                    Datum::of_integer(static_cast<std::int64_t>(table->size_hint_rows)),
                    Datum::of_integer(table->schema.row_bytes()),
                    partition.empty() ? Datum() : text_of(*input.arena, partition)});
  }
  co_return rows;
}

Task<Result<VirtualRows>> columns_rows(VirtualTableInput input) {
  Result<std::vector<storage::TableRef>> tables = co_await input.engine->tables();
  if (!tables.ok()) co_return tables.status();
  VirtualRows rows;
  for (const storage::TableRef& table : *tables) {
    if (storage::keeps_long_values(table->name) || is_temporary(table->name)) continue;
    const std::span<const layout::Column> columns = shown_columns(table->schema);
    for (std::uint32_t i = 0; i < columns.size(); ++i) {
      const int key = table->schema.key_position(i);
      auto fallback = columns[i].default_text;
      if (enumeration_of(columns[i]) != 0 && fallback) fallback = default_text(columns[i]);
      if (const auto generation = generation_of(columns[i]))
        fallback = "generated always as (" + generation->expression + ") stored";
      rows.push_back({Datum::of_text("public"), text_of(*input.arena, table->name),
                      text_of(*input.arena, columns[i].name), Datum::of_integer(i + 1),
                      text_of(*input.arena, type_name(column_type(columns[i]))),
                      Datum::of_boolean(columns[i].not_null),
                      fallback ? text_of(*input.arena, *fallback) : Datum(),
                      key < 0 ? Datum() : Datum::of_integer(key + 1)});
    }
  }
  co_return rows;
}

Task<Result<VirtualRows>> indexes_rows(VirtualTableInput input) {
  Result<std::vector<storage::TableRef>> tables = co_await input.engine->tables();
  if (!tables.ok()) co_return tables.status();
  VirtualRows rows;
  for (const storage::TableRef& table : *tables) {
    if (storage::keeps_long_values(table->name) || is_temporary(table->name)) continue;
    for (const storage::IndexRef& index : table->indexes) {
      if (index->replaced()) continue;
      std::string columns;
      for (const layout::IndexColumn& column : index->shape.columns()) {
        const auto own = indexed_column(table->schema, column.column);
        columns += (columns.empty() ? "" : ", ") +
                   (own ? table->schema.columns()[*own].name
                        : index_column_text(table->schema, column.column, false)) +
                   (column.descending ? " DESC" : "");
      }
      rows.push_back(
          {Datum::of_text("public"), text_of(*input.arena, table->name), text_of(*input.arena, index->name),
           Datum::of_integer(index->id), Datum::of_boolean(index->unique || index->primary),
           Datum::of_boolean(index->constraint), Datum::of_boolean(index->ready()),
           text_of(*input.arena, columns), Datum::of_text(index->hash ? "hash" : "btree"),
           index->hash ? Datum() : Datum::of_integer(static_cast<std::int64_t>(index->parts.size()))});
    }
  }
  co_return rows;
}

// Of a function without arguments, which stands in FROM.
Task<Result<VirtualRows>> keyword_table_rows(VirtualTableInput input) {
  co_return keyword_rows(*input.arena);
}

Datum time_of(const std::optional<std::int64_t>& time_us) {
  return time_us ? Datum::of_integer(*time_us) : Datum();
}

// Superusers, and users of the same name, may see what a session does; while there are roles, those who have
// the role of its user.
bool may_see(const SessionFacts& facts, const SessionActivity& session) {
  const storage::Roles* const roles = facts.roles.get();
  if (roles == nullptr || roles->empty())
    return facts.user == session.user || facts.sessions->may_look_into(facts.user, session);
  const storage::Role* const role = roles->find(session.user);
  return facts.is_superuser() || (role != nullptr && roles->inherits(facts.role, role->id));
}

Task<Result<VirtualRows>> activity_rows(VirtualTableInput input) {
  VirtualRows rows;
  const SessionDirectory* const sessions = input.facts->sessions;
  if (sessions == nullptr) co_return rows;
  for (const SessionActivity& session : sessions->sessions()) {
    Arena& arena = *input.arena;
    std::vector<Datum> row = {text_of(arena, session.database), Datum::of_integer(session.process_id),
                              text_of(arena, session.user), text_of(arena, session.application_name)};
    row.resize(15);
    row[13] = Datum::of_text("<insufficient privilege>");
    row[14] = Datum::of_text("client backend");
    if (may_see(*input.facts, session)) {
      if (!session.client_address.empty()) row[4] = text_of(arena, session.client_address);
      if (session.client_port) row[5] = Datum::of_integer(*session.client_port);
      row[6] = Datum::of_integer(session.began_us);
      row[7] = time_of(session.transaction_began_us);
      row[8] = time_of(session.query_began_us);
      row[9] = Datum::of_integer(session.state_changed_us);
      row[12] = text_of(arena, session.state);
      row[13] = text_of(arena, session.query);
    }
    rows.push_back(std::move(row));
  }
  co_return rows;
}

const std::vector<VirtualTable>& all_tables() {
  static const std::vector<VirtualTable> tables = {
      {"public",
       "namdb_statistics",
       {{"name", {TypeId::text}}, {"metric", {TypeId::text}}, {"value", {TypeId::int8}}},
       statistics_rows},
      {"public",
       "namdb_fabric",
       {{"worker", {TypeId::int4}},
        {"memory_server", {TypeId::int4}},
        {"name", {TypeId::text}},
        {"text", {TypeId::text}},
        {"amount", {TypeId::int8}}},
       fabric_rows},
      {"public",
       "namdb_tables",
       {{"schema_name", {TypeId::text}},
        {"table_name", {TypeId::text}},
        {"table_id", {TypeId::int8}},
        {"size_hint", {TypeId::int8}},
        {"row_bytes", {TypeId::int8}},
        {"partition_columns", {TypeId::text}}},
       tables_rows},
      {"public",
       "namdb_columns",
       {{"schema_name", {TypeId::text}},
        {"table_name", {TypeId::text}},
        {"column_name", {TypeId::text}},
        {"position", {TypeId::int4}},
        {"data_type", {TypeId::text}},
        {"not_null", {TypeId::boolean}},
        {"column_default", {TypeId::text}},
        {"key_position", {TypeId::int4}}},
       columns_rows},
      {"public",
       "namdb_indexes",
       {{"schema_name", {TypeId::text}},
        {"table_name", {TypeId::text}},
        {"index_name", {TypeId::text}},
        {"index_id", {TypeId::int8}},
        {"is_unique", {TypeId::boolean}},
        {"is_constraint", {TypeId::boolean}},
        {"is_ready", {TypeId::boolean}},
        {"columns", {TypeId::text}},
        {"method", {TypeId::text}},
        {"parts", {TypeId::int4}}},
       indexes_rows},
      {"public",
       "namdb_procedures",
       {{"schema_name", {TypeId::text}}, {"procedure_name", {TypeId::text}}, {"definition", {TypeId::text}}},
       procedures_rows},
      {"pg_catalog",
       "pg_get_keywords",
       {{"word", {TypeId::text}},
        {"catcode", {TypeId::char1}},
        {"barelabel", {TypeId::boolean}},
        {"catdesc", {TypeId::text}},
        {"baredesc", {TypeId::text}}},
       keyword_table_rows},
      {"pg_catalog",
       "pg_stat_activity",
       {{"datname", {TypeId::text}},
        {"pid", {TypeId::int4}},
        {"usename", {TypeId::text}},
        {"application_name", {TypeId::text}},
        {"client_addr", {TypeId::text}},
        {"client_port", {TypeId::int4}},
        {"backend_start", {TypeId::timestamptz}},
        {"xact_start", {TypeId::timestamptz}},
        {"query_start", {TypeId::timestamptz}},
        {"state_change", {TypeId::timestamptz}},
        {"wait_event_type", {TypeId::text}},
        {"wait_event", {TypeId::text}},
        {"state", {TypeId::text}},
        {"query", {TypeId::text}},
        {"backend_type", {TypeId::text}}},
       activity_rows},
  };
  return tables;
}

}  // namespace

namespace {

const std::vector<VirtualTable>& catalog_tables() {
  static const std::vector<VirtualTable> tables = [] {
    std::vector<VirtualTable> all;
    for (const SystemRelation& relation : system_relations()) {
      VirtualTable& table = all.emplace_back();
      table.schema = relation.schema;
      table.name = relation.name;
      table.relation = &relation;
      for (const SystemRelation::Column& column : relation.columns)
        table.columns.push_back({column.name, column.type});
      if (relation.has_tableoid()) table.columns.push_back({"tableoid", {TypeId::oid}, true});
    }
    return all;
  }();
  return tables;
}

bool is_named(const VirtualTable& table, std::string_view schema, std::string_view name) {
  return table.name == name && (schema.empty() ? table.schema != kInformationSchema : table.schema == schema);
}

}  // namespace

const VirtualTable* find_virtual_table(std::string_view schema, std::string_view name) {
  for (const std::vector<VirtualTable>* tables : {&all_tables(), &catalog_tables()}) {
    for (const VirtualTable& table : *tables) {
      if (is_named(table, schema, name)) return &table;
    }
  }
  return nullptr;
}

}  // namespace namdb::sql
