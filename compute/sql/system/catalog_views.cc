// The rows of pg_catalog's views.
#include <algorithm>
#include <array>
#include <string>

#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/session_objects.h"
#include "compute/sql/system/catalog_roles.h"
#include "compute/sql/system/catalog_rows.h"
#include "compute/sql/system/setting_definition.h"
#include "compute/sql/value/array.h"

namespace namdb::sql {
namespace {

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

// Of whose relations a view of statistics has rows.
enum class StatisticsOf : std::uint8_t { all, users, system };

// Relations whose uses are not counted.
template <char kKind, StatisticsOf kOf>
void add_uncounted(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& relation : input.catalog->relations()) {
    const bool left_out =
        kOf == (relation.schema == kPublicSchemaOid ? StatisticsOf::system : StatisticsOf::users);
    if (relation.kind != kKind || left_out) continue;
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
  std::string_view name;
  CatalogRowMaker add_rows;
};

constexpr std::array kViews = {
    ViewRows{"pg_stat_all_tables", add_uncounted<'r', StatisticsOf::all>},
    ViewRows{"pg_stat_user_tables", add_uncounted<'r', StatisticsOf::users>},
    ViewRows{"pg_stat_sys_tables", add_uncounted<'r', StatisticsOf::system>},
    ViewRows{"pg_statio_all_tables", add_uncounted<'r', StatisticsOf::all>},
    ViewRows{"pg_statio_user_tables", add_uncounted<'r', StatisticsOf::users>},
    ViewRows{"pg_statio_sys_tables", add_uncounted<'r', StatisticsOf::system>},
    ViewRows{"pg_stat_all_indexes", add_uncounted<'i', StatisticsOf::all>},
    ViewRows{"pg_stat_user_indexes", add_uncounted<'i', StatisticsOf::users>},
    ViewRows{"pg_statio_all_indexes", add_uncounted<'i', StatisticsOf::all>},
    ViewRows{"pg_statio_user_indexes", add_uncounted<'i', StatisticsOf::users>},
    ViewRows{"pg_statio_all_sequences", add_uncounted<'S', StatisticsOf::all>},
    ViewRows{"pg_statio_user_sequences", add_uncounted<'S', StatisticsOf::users>},
    ViewRows{"pg_roles", add_shown_roles},
    ViewRows{"pg_user", add_users},
    ViewRows{"pg_shadow", add_shadows},
    ViewRows{"pg_group", add_groups},
    ViewRows{"pg_tables", add_table_names},
    ViewRows{"pg_views", add_view_names},
    ViewRows{"pg_indexes", add_index_names},
    ViewRows{"pg_sequences", add_sequence_names},
    ViewRows{"pg_settings", add_settings},
    ViewRows{"pg_prepared_statements", add_prepared},
    ViewRows{"pg_cursors", add_cursors},
};

}  // namespace

CatalogRowMaker find_catalog_view(const SystemRelation& relation) {
  const auto found = std::ranges::find(kViews, relation.name, &ViewRows::name);
  const bool in_catalog = relation.schema == kCatalogSchema;
  return !in_catalog || found == kViews.end() ? nullptr : found->add_rows;
}

}  // namespace namdb::sql
