// The rows of pg_catalog's views and of information_schema.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>

#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/session_objects.h"
#include "compute/sql/system/catalog_roles.h"
#include "compute/sql/system/catalog_rows.h"
#include "compute/sql/system/setting_definition.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/enumeration.h"
#include "compute/sql/value/interval.h"
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

void add_table_names(CatalogRowWriter& rows, const VirtualTableInput& input) {
  const RoleTexts roles(input, rows.arena());
  for (const CatalogRelation* const wanted : wanted_relations(input)) {
    const CatalogRelation& relation = *wanted;
    if (relation.kind != 'r') continue;
    rows.add()
        .text("schemaname", schema_name(relation.schema))
        .text("tablename", relation.name)
        .text("tableowner", roles.owner_name(relation))
        .flag("hasindexes", relation.is_table());
  }
}

void add_index_names(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation* const wanted : wanted_relations(input)) {
    const CatalogRelation& index = *wanted;
    if (index.kind != 'i') continue;
    rows.add()
        .text("schemaname", schema_name(index.schema))
        .text("tablename", index.table->name)
        .text("indexname", index.name)
        .text("indexdef", index_text(index, true));
  }
}

void add_sequence_names(CatalogRowWriter& rows, const VirtualTableInput& input) {
  const RoleTexts roles(input, rows.arena());
  for (const CatalogRelation& sequence : input.catalog->relations()) {
    if (sequence.kind != 'S') continue;
    const CatalogSequence& facts = *sequence.sequence;
    const TypeId type = type_of(facts);
    Datum shown_type = Datum::of_integer(type_oid(type));
    shown_type.text = type_name(type);
    rows.add()
        .text("schemaname", schema_name(sequence.schema))
        .text("sequencename", sequence.name)
        .text("sequenceowner", roles.owner_name(sequence))
        .set("data_type", shown_type)
        .number("start_value", facts.definition.start)
        .number("min_value", facts.definition.least)
        .number("max_value", facts.definition.most)
        .number("increment_by", facts.definition.increment)
        .flag("cycle", facts.definition.cycles)
        .number("cache_size", facts.definition.block_numbers)
        .set("last_value", facts.is_called ? Datum::of_integer(facts.last) : Datum());
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
  for (const CatalogRelation* const wanted : wanted_relations(input)) {
    const CatalogRelation& relation = *wanted;
    if (relation.kind != 'r' && relation.kind != 'v') continue;
    const bool is_table = relation.kind == 'r';
    rows.add()
        .text("table_catalog", input.facts->database)
        .text("table_schema", schema_name(relation.schema))
        .text("table_name", relation.name)
        .text("table_type", is_table ? "BASE TABLE" : "VIEW")
        .text("is_insertable_into", yes_or_no(is_public(relation) && is_table))
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

void add_interval_facts(Row& row, const Type& type) {
  const std::string fields = interval_fields(type.modifier);
  const std::size_t digits = fields.find('(');
  row.number("datetime_precision", digits == std::string::npos ? 6 : fields[digits + 1] - '0');
  std::string name = fields.substr(0, digits);
  if (name.empty()) return;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  row.text("interval_type", name.substr(1));
}

// `sequence` may be null: another session has just dropped it.
void add_identity_facts(Row& row, const CatalogRelation* sequence) {
  if (sequence == nullptr || sequence->sequence == nullptr) return;
  const txn::SequenceDefinition& definition = sequence->sequence->definition;
  row.text("identity_start", std::to_string(definition.start))
      .text("identity_increment", std::to_string(definition.increment))
      .text("identity_maximum", std::to_string(definition.most))
      .text("identity_minimum", std::to_string(definition.least))
      .text("identity_cycle", yes_or_no(definition.cycles));
}

void add_information_column(Row row, const VirtualTableInput& input, const CatalogRelation& relation,
                            std::int64_t position, const layout::Column& column) {
  const Type type = column_type(column);
  const auto sequence = sequence_default_of(column);
  const bool is_identity = sequence && sequence->is_identity();
  row.text("table_catalog", input.facts->database)
      .text("table_schema", schema_name(relation.schema))
      .text("table_name", relation.name)
      .text("column_name", column.name)
      .number("ordinal_position", position);
  if (has_default(column) && !is_identity)
    row.text("column_default", default_text(column, input.catalog->hides_public()));
  row.text("is_nullable", yes_or_no(!column.not_null))
      .text("data_type", type.is_array()         ? "ARRAY"
                         : type.is_enumeration() ? "USER-DEFINED"
                                                 : type_name(type.id));
  if (type.is_string()) {
    constexpr std::int64_t kLongest_bytes = std::int64_t{1} << 30;
    const auto length = type.length_characters();
    row.set("character_maximum_length", length ? Datum::of_integer(*length) : Datum());
    row.number("character_octet_length", length ? std::int64_t{*length} * 4 : kLongest_bytes);
  }
  const NumberFacts number = number_facts(type);
  row.set("numeric_precision", number_or_null(number.precision));
  row.set("numeric_precision_radix",
          number.precision || type.id == TypeId::numeric ? Datum::of_integer(number.radix) : Datum());
  row.set("numeric_scale", number_or_null(number.scale));
  if (type.type_class() == TypeClass::time || type.type_class() == TypeClass::time_of_day)
    row.number("datetime_precision", type.id == TypeId::date ? 0 : type.modifier < 0 ? 6 : type.modifier);
  if (type.id == TypeId::interval) add_interval_facts(row, type);
  row.text("udt_catalog", input.facts->database)
      .text("udt_schema", is_made(type.id) ? "public" : kCatalogSchema)
      .text("udt_name", internal_type_name(type.id))
      .text("dtd_identifier", std::to_string(position))
      .text("is_self_referencing", "NO")
      .text("is_identity", yes_or_no(is_identity));
  if (is_identity) {
    row.text("identity_generation", sequence->is_always() ? "ALWAYS" : "BY DEFAULT");
    add_identity_facts(row, input.catalog->find("public", sequence->name));
  } else {
    row.text("identity_cycle", "NO");
  }
  row.text("is_generated", is_generated(column) ? "ALWAYS" : "NEVER");
  if (is_generated(column)) row.text("generation_expression", default_text(column));
  row.text("is_updatable", "YES");
}

// A view's column as one of a table. Types that no column of a table has are shown by their names only.
void add_view_columns(CatalogRowWriter& rows, const VirtualTableInput& input,
                      const CatalogRelation& relation) {
  std::int64_t position = 0;
  for (const View::Column& column : relation.view->columns) {
    ++position;
    rows.add()
        .text("table_catalog", input.facts->database)
        .text("table_schema", schema_name(relation.schema))
        .text("table_name", relation.name)
        .text("column_name", column.name)
        .number("ordinal_position", position)
        .text("is_nullable", "YES")
        .text("data_type", column.type.is_enumeration() ? "USER-DEFINED" : type_name(column.type.id))
        .text("udt_catalog", input.facts->database)
        .text("udt_schema", is_made(column.type.id) ? "public" : kCatalogSchema)
        .text("udt_name", internal_type_name(column.type.id))
        .text("dtd_identifier", std::to_string(position))
        .text("is_self_referencing", "NO")
        .text("is_identity", "NO")
        .text("identity_cycle", "NO")
        .text("is_generated", "NEVER")
        .text("is_updatable", "NO");
  }
}

void add_view_names(CatalogRowWriter& rows, const VirtualTableInput& input) {
  const RoleTexts roles(input, rows.arena());
  for (const CatalogRelation& relation : input.catalog->relations()) {
    if (relation.view == nullptr) continue;
    rows.add()
        .text("schemaname", schema_name(relation.schema))
        .text("viewname", relation.name)
        .text("viewowner", roles.owner_name(relation))
        .text("definition", view_text(relation));
  }
}

void add_information_views(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& relation : input.catalog->relations()) {
    if (relation.view == nullptr) continue;
    rows.add()
        .text("table_catalog", input.facts->database)
        .text("table_schema", schema_name(relation.schema))
        .text("table_name", relation.name)
        .text("view_definition", view_text(relation))
        .text("check_option", "NONE")
        .text("is_updatable", "NO")
        .text("is_insertable_into", "NO")
        .text("is_trigger_updatable", "NO")
        .text("is_trigger_deletable", "NO")
        .text("is_trigger_insertable_into", "NO");
  }
}

void add_referential_constraints(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& constraint : input.catalog->relations()) {
    if (!constraint.is_foreign_key()) continue;
    const storage::ForeignKey& key = *constraint.foreign_key;
    rows.add()
        .text("constraint_catalog", input.facts->database)
        .text("constraint_schema", schema_name(constraint.schema))
        .text("constraint_name", constraint.name)
        .text("unique_constraint_catalog", input.facts->database)
        .text("unique_constraint_schema", schema_name(constraint.schema))
        .text("unique_constraint_name", Catalog::referenced_key(constraint).name)
        .text("match_option", key.match_full ? "FULL" : "NONE")
        .text("update_rule", action_text(key.on_update))
        .text("delete_rule", action_text(key.on_delete));
  }
}

void add_information_columns(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& relation : input.catalog->relations()) {
    if (relation.view != nullptr) add_view_columns(rows, input, relation);
    if (!relation.is_table()) continue;
    std::int64_t position = 0;
    for (const layout::Column& column : shown_columns(relation.table->schema))
      add_information_column(rows.add(), input, relation, ++position, column);
  }
}

void add_information_constraints(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& index : input.catalog->relations()) {
    if (!index.is_constraint()) continue;
    const storage::ForeignKey* const key = index.foreign_key;
    rows.add()
        .text("constraint_catalog", input.facts->database)
        .text("constraint_schema", schema_name(index.schema))
        .text("constraint_name", index.name)
        .text("table_catalog", input.facts->database)
        .text("table_schema", schema_name(index.schema))
        .text("table_name", index.table->name)
        .text("constraint_type", index.is_foreign_key()   ? "FOREIGN KEY"
                                 : index.is_check()       ? "CHECK"
                                 : index.is_primary_key() ? "PRIMARY KEY"
                                                          : "UNIQUE")
        .text("is_deferrable", key != nullptr && key->deferrable ? "YES" : "NO")
        .text("initially_deferred", key != nullptr && key->initially_deferred ? "YES" : "NO")
        .text("enforced", "YES");
  }
}

// Where a column is in the unique key that a foreign key references, from 1.
std::int64_t position_in_key(const CatalogRelation& foreign_key, std::uint32_t column) {
  const std::vector<std::uint32_t> key = Catalog::referenced_key(foreign_key).columns;
  return std::ranges::find(key, column) - key.begin() + 1;
}

// With positions: the foreign key's own columns. Without: those that it references.
template <bool kWithPositions>
void add_foreign_key_columns(CatalogRowWriter& rows, const VirtualTableInput& input,
                             const CatalogRelation& constraint) {
  const std::vector<std::uint32_t> own = Catalog::foreign_key_columns(constraint, false);
  const std::vector<std::uint32_t> referenced = Catalog::foreign_key_columns(constraint, true);
  for (std::size_t i = 0; i < own.size() && i < referenced.size(); ++i) {
    const storage::Table& table = kWithPositions ? *constraint.table : *constraint.referenced;
    const std::string& column = table.schema.columns()[kWithPositions ? own[i] : referenced[i]].name;
    Row row = rows.add();
    const auto add_table = [&] {
      row.text("table_catalog", input.facts->database)
          .text("table_schema", schema_name(constraint.schema))
          .text("table_name", table.name)
          .text("column_name", column);
    };
    if (!kWithPositions) add_table();
    row.text("constraint_catalog", input.facts->database)
        .text("constraint_schema", schema_name(constraint.schema))
        .text("constraint_name", constraint.name);
    if (!kWithPositions) continue;
    add_table();
    row.number("ordinal_position", static_cast<std::int64_t>(i + 1))
        .number("position_in_unique_constraint", position_in_key(constraint, referenced[i]));
  }
}

template <bool kWithPositions>
void add_constraint_columns(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& index : input.catalog->relations()) {
    if (index.is_foreign_key()) add_foreign_key_columns<kWithPositions>(rows, input, index);
    if (!index.is_constraint() || !index.is_relation()) continue;
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
  const RoleTexts roles(input, rows.arena());
  for (const Oid schema : kSchemaOids)
    rows.add()
        .text("catalog_name", input.facts->database)
        .text("schema_name", schema_name(schema))
        .text("schema_owner", roles.system_owner_name());
}

void add_information_sequences(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& sequence : input.catalog->relations()) {
    // Those of identity columns are not shown.
    if (sequence.kind != 'S') continue;
    if (sequence.table != nullptr) {
      const auto filled = sequence_default_of(sequence.table->schema.columns()[sequence.column]);
      if (filled && filled->is_identity()) continue;
    }
    const txn::SequenceDefinition& definition = sequence.sequence->definition;
    const Type type{type_of(*sequence.sequence)};
    const NumberFacts number = number_facts(type);
    rows.add()
        .text("sequence_catalog", input.facts->database)
        .text("sequence_schema", schema_name(sequence.schema))
        .text("sequence_name", sequence.name)
        .text("data_type", type_name(type.id))
        .set("numeric_precision", number_or_null(number.precision))
        .number("numeric_precision_radix", 2)
        .number("numeric_scale", 0)
        .text("start_value", std::to_string(definition.start))
        .text("minimum_value", std::to_string(definition.least))
        .text("maximum_value", std::to_string(definition.most))
        .text("increment", std::to_string(definition.increment))
        .text("cycle_option", yes_or_no(definition.cycles));
  }
}

// Relations whose uses nobody counts.
template <char kKind, bool kOfUsers, bool kOfSystem>
void add_uncounted(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& relation : input.catalog->relations()) {
    const bool of_users = relation.schema == kPublicSchemaOid;
    if (relation.kind != kKind || !(of_users ? kOfUsers : kOfSystem)) continue;
    if (kKind != 'i') {
      rows.add_unknown()
          .number("relid", relation.oid)
          .text("schemaname", schema_name(relation.schema))
          .text("relname", relation.name);
      continue;
    }
    rows.add_unknown()
        .number("relid", Catalog::table_oid(relation))
        .number("indexrelid", relation.oid)
        .text("schemaname", schema_name(relation.schema))
        .text("relname", relation.table->name)
        .text("indexrelname", relation.name);
  }
}

struct ViewRows {
  std::string_view schema;
  std::string_view name;
  CatalogRowMaker add_rows;
};

constexpr std::array kViews = {
    ViewRows{kCatalogSchema, "pg_stat_all_tables", add_uncounted<'r', true, true>},
    ViewRows{kCatalogSchema, "pg_stat_user_tables", add_uncounted<'r', true, false>},
    ViewRows{kCatalogSchema, "pg_stat_sys_tables", add_uncounted<'r', false, true>},
    ViewRows{kCatalogSchema, "pg_statio_all_tables", add_uncounted<'r', true, true>},
    ViewRows{kCatalogSchema, "pg_statio_user_tables", add_uncounted<'r', true, false>},
    ViewRows{kCatalogSchema, "pg_statio_sys_tables", add_uncounted<'r', false, true>},
    ViewRows{kCatalogSchema, "pg_stat_all_indexes", add_uncounted<'i', true, true>},
    ViewRows{kCatalogSchema, "pg_stat_user_indexes", add_uncounted<'i', true, false>},
    ViewRows{kCatalogSchema, "pg_statio_all_indexes", add_uncounted<'i', true, true>},
    ViewRows{kCatalogSchema, "pg_statio_user_indexes", add_uncounted<'i', true, false>},
    ViewRows{kCatalogSchema, "pg_statio_all_sequences", add_uncounted<'S', true, true>},
    ViewRows{kCatalogSchema, "pg_statio_user_sequences", add_uncounted<'S', true, false>},
    ViewRows{kCatalogSchema, "pg_roles", add_shown_roles},
    ViewRows{kCatalogSchema, "pg_user", add_users},
    ViewRows{kCatalogSchema, "pg_shadow", add_shadows},
    ViewRows{kCatalogSchema, "pg_group", add_groups},
    ViewRows{kInformationSchema, "table_privileges", add_table_privileges},
    ViewRows{kInformationSchema, "role_table_grants", add_role_table_grants},
    ViewRows{kInformationSchema, "enabled_roles", add_enabled_roles},
    ViewRows{kInformationSchema, "applicable_roles", add_applicable_roles},
    ViewRows{kCatalogSchema, "pg_tables", add_table_names},
    ViewRows{kCatalogSchema, "pg_views", add_view_names},
    ViewRows{kInformationSchema, "views", add_information_views},
    ViewRows{kInformationSchema, "referential_constraints", add_referential_constraints},
    ViewRows{kCatalogSchema, "pg_indexes", add_index_names},
    ViewRows{kCatalogSchema, "pg_sequences", add_sequence_names},
    ViewRows{kCatalogSchema, "pg_settings", add_settings},
    ViewRows{kCatalogSchema, "pg_prepared_statements", add_prepared},
    ViewRows{kCatalogSchema, "pg_cursors", add_cursors},
    ViewRows{kInformationSchema, "tables", add_information_tables},
    ViewRows{kInformationSchema, "columns", add_information_columns},
    ViewRows{kInformationSchema, "table_constraints", add_information_constraints},
    ViewRows{kInformationSchema, "key_column_usage", add_constraint_columns<true>},
    ViewRows{kInformationSchema, "constraint_column_usage", add_constraint_columns<false>},
    ViewRows{kInformationSchema, "schemata", add_information_schemas},
    ViewRows{kInformationSchema, "sequences", add_information_sequences},
};

}  // namespace

CatalogRowMaker find_catalog_view(const SystemRelation& relation) {
  const auto found = std::ranges::find_if(kViews, [&relation](const ViewRows& view) {
    return view.schema == relation.schema && view.name == relation.name;
  });
  return found == kViews.end() ? nullptr : found->add_rows;
}

}  // namespace namdb::sql
