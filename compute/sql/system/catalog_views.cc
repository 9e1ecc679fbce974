// The rows of pg_catalog's views and of information_schema.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/session_objects.h"
#include "compute/sql/system/catalog_rows.h"
#include "compute/sql/system/setting_definition.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

using Row = CatalogRowWriter::Row;

std::string_view yes_or_no(bool value) {
  return value ? "YES" : "NO";
}

bool is_public(const CatalogRelation& relation) {
  return relation.schema == kPublicSchemaOid;
}

// Roles are not kept: any name may connect. So there is the session's user.
Row add_role(CatalogRowWriter& rows, const VirtualTableInput& input, bool oid_is_first) {
  Row row = rows.add();
  if (oid_is_first) row.number("oid", kOwnerOid);
  row.text("rolname", input.facts->user)
      .flag("rolsuper", true)
      .flag("rolinherit", true)
      .flag("rolcreaterole", true)
      .flag("rolcreatedb", true)
      .flag("rolcanlogin", true)
      .number("rolconnlimit", -1);
  return row;
}

constexpr std::string_view kHiddenPassword = "********";

void add_stored_role(CatalogRowWriter& rows, const VirtualTableInput& input) {
  add_role(rows, input, true);
}

void add_shown_role(CatalogRowWriter& rows, const VirtualTableInput& input) {
  add_role(rows, input, false).text("rolpassword", kHiddenPassword).number("oid", kOwnerOid);
}

void add_user(CatalogRowWriter& rows, const VirtualTableInput& input) {
  rows.add()
      .text("usename", input.facts->user)
      .number("usesysid", kOwnerOid)
      .flag("usecreatedb", true)
      .flag("usesuper", true)
      .text("passwd", kHiddenPassword);
}

void add_table_names(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& relation : input.catalog->relations()) {
    if (relation.kind != 'r') continue;
    rows.add()
        .text("schemaname", schema_name(relation.schema))
        .text("tablename", relation.name)
        .text("tableowner", input.facts->user)
        .flag("hasindexes", relation.is_table());
  }
}

void add_index_names(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& index : input.catalog->relations()) {
    if (index.kind != 'i') continue;
    rows.add()
        .text("schemaname", schema_name(index.schema))
        .text("tablename", index.table->name)
        .text("indexname", index.name)
        .text("indexdef", index_text(index, true));
  }
}

void add_sequence_names(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& sequence : input.catalog->relations()) {
    if (sequence.kind != 'S') continue;
    const layout::Column& column = sequence.table->schema.columns()[sequence.column];
    const TypeId type = column_type(column).id;
    Datum shown_type = Datum::of_integer(type_oid(type));
    shown_type.text = type_name(type);
    rows.add()
        .text("schemaname", schema_name(sequence.schema))
        .text("sequencename", sequence.name)
        .text("sequenceowner", input.facts->user)
        .set("data_type", shown_type)
        .number("start_value", 1)
        .number("min_value", 1)
        .number("max_value", greatest_number(column.type))
        .number("increment_by", 1)
        .number("cache_size", 32)
        .set("last_value", Datum());
  }
}

// The values that a new session has.
void add_settings(CatalogRowWriter& rows, const VirtualTableInput&) {
  for (const SettingDefinition& setting : setting_definitions()) {
    rows.add()
        .text("name", setting.name)
        .text("setting", setting.fallback)
        .text("short_desc", setting.description)
        .text("context", setting.kind == SettingKind::fixed ? "internal" : "user")
        .text("vartype", setting.kind == SettingKind::boolean ? "bool" : "string")
        .text("source", "default")
        .text("boot_val", setting.fallback)
        .text("reset_val", setting.fallback);
  }
}

void add_prepared(CatalogRowWriter& rows, const VirtualTableInput& input) {
  if (input.facts->objects == nullptr) return;
  for (const PreparedObject& prepared : input.facts->objects->prepared_statements()) {
    ArrayWriter types(TypeId::text_array);
    for (const Type& type : prepared.parameters) types.add(Datum::of_text(type_name(type.id)));
    rows.add()
        .text("name", prepared.name)
        .text("statement", prepared.statement)
        .number("prepare_time", prepared.prepared_us)
        .set("parameter_types", types.finish(rows.arena()))
        .flag("from_sql", prepared.from_sql)
        .number("generic_plans", static_cast<std::int64_t>(prepared.runs));
  }
}

void add_cursors(CatalogRowWriter& rows, const VirtualTableInput& input) {
  if (input.facts->objects == nullptr) return;
  for (const CursorObject& cursor : input.facts->objects->cursors()) {
    rows.add()
        .text("name", cursor.name)
        .text("statement", cursor.statement)
        .flag("is_holdable", cursor.holds)
        .flag("is_binary", cursor.binary)
        .flag("is_scrollable", cursor.scrolls)
        .number("creation_time", cursor.declared_us);
  }
}

void add_information_tables(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& relation : input.catalog->relations()) {
    if (relation.kind != 'r' && relation.kind != 'v') continue;
    const bool is_table = relation.kind == 'r';
    rows.add()
        .text("table_catalog", input.facts->database)
        .text("table_schema", schema_name(relation.schema))
        .text("table_name", relation.name)
        .text("table_type", is_table ? "BASE TABLE" : "VIEW")
        .text("is_insertable_into", yes_or_no(is_public(relation)))
        .text("is_typed", "NO");
  }
}

struct NumberFacts {
  std::optional<std::int64_t> precision;
  std::optional<std::int64_t> scale;
  std::int64_t radix = 2;
};

NumberFacts number_facts(const Type& type) {
  switch (type.id) {
    case TypeId::int2:
      return {16, 0};
    case TypeId::int4:
      return {32, 0};
    case TypeId::int8:
      return {64, 0};
    case TypeId::float4:
      return {24, std::nullopt};
    case TypeId::float8:
      return {53, std::nullopt};
    case TypeId::numeric:
      return {type.numeric_precision(), type.numeric_scale(), 10};
    default:
      return {};
  }
}

Datum number_or_null(std::optional<std::int64_t> value) {
  return value ? Datum::of_integer(*value) : Datum();
}

void add_information_column(Row row, const VirtualTableInput& input, const CatalogRelation& relation,
                            std::int64_t position, const layout::Column& column) {
  const Type type = column_type(column);
  const auto sequence = sequence_default_of(column);
  const bool is_identity = sequence && sequence->always;
  row.text("table_catalog", input.facts->database)
      .text("table_schema", schema_name(relation.schema))
      .text("table_name", relation.name)
      .text("column_name", column.name)
      .number("ordinal_position", position);
  if (column.default_text && !is_identity) row.text("column_default", default_text(column));
  row.text("is_nullable", yes_or_no(!column.not_null)).text("data_type", type_name(type.id));
  if (type.is_string()) {
    constexpr std::int64_t kLongest_bytes = std::int64_t{1} << 30;
    const auto length = type.length_characters();
    row.set("character_maximum_length", length ? Datum::of_integer(*length) : Datum());
    row.number("character_octet_length", length ? std::int64_t{*length} * 4 : kLongest_bytes);
  }
  const NumberFacts number = number_facts(type);
  row.set("numeric_precision", number_or_null(number.precision));
  row.set("numeric_precision_radix", number.precision ? Datum::of_integer(number.radix) : Datum());
  row.set("numeric_scale", number_or_null(number.scale));
  if (type.type_class() == TypeClass::time || type.type_class() == TypeClass::time_of_day)
    row.number("datetime_precision", type.id == TypeId::date ? 0 : 6);
  row.text("udt_catalog", input.facts->database)
      .text("udt_schema", kCatalogSchema)
      .text("udt_name", internal_type_name(type.id))
      .text("dtd_identifier", std::to_string(position))
      .text("is_self_referencing", "NO")
      .text("is_identity", yes_or_no(is_identity));
  if (is_identity) {
    row.text("identity_generation", "ALWAYS")
        .text("identity_start", "1")
        .text("identity_increment", "1")
        .text("identity_maximum", std::to_string(greatest_number(column.type)))
        .text("identity_minimum", "1");
  }
  row.text("identity_cycle", "NO").text("is_generated", "NEVER").text("is_updatable", "YES");
}

void add_information_columns(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& relation : input.catalog->relations()) {
    if (!relation.is_table()) continue;
    std::int64_t position = 0;
    for (const layout::Column& column : shown_columns(relation.table->schema))
      add_information_column(rows.add(), input, relation, ++position, column);
  }
}

void add_information_constraints(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& index : input.catalog->relations()) {
    if (!index.is_constraint()) continue;
    rows.add()
        .text("constraint_catalog", input.facts->database)
        .text("constraint_schema", schema_name(index.schema))
        .text("constraint_name", index.name)
        .text("table_catalog", input.facts->database)
        .text("table_schema", schema_name(index.schema))
        .text("table_name", index.table->name)
        .text("constraint_type", index.is_check()         ? "CHECK"
                                 : index.is_primary_key() ? "PRIMARY KEY"
                                                          : "UNIQUE")
        .text("is_deferrable", "NO")
        .text("initially_deferred", "NO")
        .text("enforced", "YES");
  }
}

template <bool kWithPositions>
void add_constraint_columns(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& index : input.catalog->relations()) {
    if (!index.is_constraint() || index.is_check()) continue;
    std::int64_t position = 0;
    for (const layout::IndexColumn& part : Catalog::columns_of(index)) {
      const std::string& column = index.table->schema.columns()[part.column].name;
      Row row = rows.add();
      if (!kWithPositions) {
        row.text("table_catalog", input.facts->database)
            .text("table_schema", schema_name(index.schema))
            .text("table_name", index.table->name)
            .text("column_name", column);
      }
      row.text("constraint_catalog", input.facts->database)
          .text("constraint_schema", schema_name(index.schema))
          .text("constraint_name", index.name);
      if (kWithPositions) {
        row.text("table_catalog", input.facts->database)
            .text("table_schema", schema_name(index.schema))
            .text("table_name", index.table->name)
            .text("column_name", column)
            .number("ordinal_position", ++position);
      }
    }
  }
}

void add_information_schemas(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const Oid schema : kSchemaOids)
    rows.add()
        .text("catalog_name", input.facts->database)
        .text("schema_name", schema_name(schema))
        .text("schema_owner", input.facts->user);
}

void add_information_sequences(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& sequence : input.catalog->relations()) {
    // Those of identity columns are not shown.
    if (sequence.kind != 'S') continue;
    const layout::Column& column = sequence.table->schema.columns()[sequence.column];
    if (sequence_default_of(column)->always) continue;
    const Type type = column_type(column);
    const NumberFacts number = number_facts(type);
    rows.add()
        .text("sequence_catalog", input.facts->database)
        .text("sequence_schema", schema_name(sequence.schema))
        .text("sequence_name", sequence.name)
        .text("data_type", type_name(type.id))
        .set("numeric_precision", number_or_null(number.precision))
        .number("numeric_precision_radix", 2)
        .number("numeric_scale", 0)
        .text("start_value", "1")
        .text("minimum_value", "1")
        .text("maximum_value", std::to_string(greatest_number(column.type)))
        .text("increment", "1")
        .text("cycle_option", "NO");
  }
}

struct View {
  std::string_view schema;
  std::string_view name;
  CatalogRowMaker add_rows;
};

constexpr std::array kViews = {
    View{kCatalogSchema, "pg_authid", add_stored_role},
    View{kCatalogSchema, "pg_roles", add_shown_role},
    View{kCatalogSchema, "pg_user", add_user},
    View{kCatalogSchema, "pg_shadow", add_user},
    View{kCatalogSchema, "pg_tables", add_table_names},
    View{kCatalogSchema, "pg_indexes", add_index_names},
    View{kCatalogSchema, "pg_sequences", add_sequence_names},
    View{kCatalogSchema, "pg_settings", add_settings},
    View{kCatalogSchema, "pg_prepared_statements", add_prepared},
    View{kCatalogSchema, "pg_cursors", add_cursors},
    View{kInformationSchema, "tables", add_information_tables},
    View{kInformationSchema, "columns", add_information_columns},
    View{kInformationSchema, "table_constraints", add_information_constraints},
    View{kInformationSchema, "key_column_usage", add_constraint_columns<true>},
    View{kInformationSchema, "constraint_column_usage", add_constraint_columns<false>},
    View{kInformationSchema, "schemata", add_information_schemas},
    View{kInformationSchema, "sequences", add_information_sequences},
};

}  // namespace

CatalogRowMaker find_catalog_view(const SystemRelation& relation) {
  const auto found = std::ranges::find_if(kViews, [&relation](const View& view) {
    return view.schema == relation.schema && view.name == relation.name;
  });
  return found == kViews.end() ? nullptr : found->add_rows;
}

}  // namespace namdb::sql
