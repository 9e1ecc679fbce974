// The rows of pg_proc, pg_language and information_schema.routines.
#include <algorithm>
#include <array>

#include "compute/sql/catalog/type_routines.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/system/catalog_rows.h"
#include "compute/sql/value/array.h"

namespace namdb::sql {
namespace {

bool has_modes(const CatalogRoutine& routine) {
  return std::ranges::any_of(routine.parameters,
                             [](const CatalogRoutine::Parameter& each) { return each.mode != 'i'; });
}

void add_routine(CatalogRowWriter& rows, const CatalogRoutine& routine) {
  ArrayWriter inputs(TypeId::oidvector);
  ArrayWriter all(TypeId::oid_array);
  ArrayWriter modes(TypeId::char1_array);
  ArrayWriter names(TypeId::text_array);
  bool is_named = false;
  std::int64_t input_count = 0;
  for (const CatalogRoutine::Parameter& parameter : routine.parameters) {
    const Datum type = Datum::of_integer(type_oid(parameter.type));
    // To a procedure its output parameters are arguments, too.
    if (parameter.is_input() || (routine.kind == 'p' && parameter.mode == 'o')) {
      inputs.add(type);
      ++input_count;
    }
    all.add(type);
    modes.add(Datum::of_text(std::string_view(&parameter.mode, 1)));
    names.add(Datum::of_text(parameter.name));
    is_named = is_named || !parameter.name.empty();
  }
  const bool shows_modes = has_modes(routine);
  const std::string_view kind(&routine.kind, 1);
  const std::string_view volatility(&routine.volatility, 1);
  const std::string_view parallel(&routine.parallel, 1);
  CatalogRowWriter::Row row = rows.add();
  row.number("oid", routine.oid)
      .text("proname", routine.name)
      .number("pronamespace", kPublicSchemaOid)
      .number("proowner", kOwnerOid)
      .number("prolang", routine.language)
      .set("procost", Datum::of_real(routine.cost))
      .set("prorows", Datum::of_real(routine.rows))
      .text("prokind", kind)
      .flag("proisstrict", routine.is_strict)
      .flag("proretset", routine.returns_set)
      .text("provolatile", volatility)
      .text("proparallel", parallel)
      .number("pronargs", input_count)
      .number("pronargdefaults", routine.defaults)
      .number("prorettype", routine.result)
      .set("proargtypes", inputs.finish(rows.arena()));
  if (shows_modes) row.set("proallargtypes", all.finish(rows.arena()));
  if (shows_modes) row.set("proargmodes", modes.finish(rows.arena()));
  if (is_named) row.set("proargnames", names.finish(rows.arena()));
  row.text("prosrc", routine.source);
}

void add_routines(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRoutine& routine : input.catalog->routines()) add_routine(rows, routine);
  // Of PostgreSQL's own functions those that pg_type names.
  for (const TypeRoutines& routines : all_type_routines()) {
    for (const TypeRoutine& routine : {routines.input, routines.output, routines.receive, routines.send}) {
      rows.add()
          .number("oid", routine.oid)
          .text("proname", routine.name)
          .number("pronamespace", kCatalogSchemaOid)
          .number("proowner", kOwnerOid)
          .number("prolang", kLanguageInternalOid)
          .set("procost", Datum::of_real(1))
          .text("prokind", "f")
          .flag("proisstrict", true)
          .text("provolatile", "s")
          .text("proparallel", "s")
          .text("prosrc", routine.name);
    }
  }
}

struct Language {
  Oid oid;
  std::string_view name;
};
constexpr std::array kLanguages = {Language{kLanguageInternalOid, "internal"}, Language{kLanguageCOid, "c"},
                                   Language{kLanguageSqlOid, "sql"},
                                   Language{kLanguagePlpgsqlOid, "plpgsql"}};

void add_languages(CatalogRowWriter& rows, const VirtualTableInput&) {
  for (const Language& language : kLanguages) {
    rows.add()
        .number("oid", language.oid)
        .text("lanname", language.name)
        .number("lanowner", kOwnerOid)
        .flag("lanispl", language.oid == kLanguagePlpgsqlOid)
        .flag("lanpltrusted", language.oid == kLanguagePlpgsqlOid || language.oid == kLanguageSqlOid);
  }
}

void add_information_routines(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRoutine& routine : input.catalog->routines()) {
    const auto language = std::ranges::find(kLanguages, routine.language, &Language::oid);
    CatalogRowWriter::Row row = rows.add();
    row.text("specific_catalog", input.facts->database)
        .text("specific_schema", "public")
        .text("specific_name", routine.name + "_" + std::to_string(routine.oid))
        .text("routine_catalog", input.facts->database)
        .text("routine_schema", "public")
        .text("routine_name", routine.name)
        .text("routine_type", routine.kind == 'p' ? "PROCEDURE" : "FUNCTION");
    if (routine.kind == 'f') {
      const std::string& result = routine.result_text;
      const bool is_table = result.starts_with("TABLE(");
      row.text("data_type", is_table                       ? "record"
                            : result.starts_with("SETOF ") ? std::string_view(result).substr(6)
                                                           : std::string_view(result));
    }
    row.text("routine_body", routine.language == kLanguageSqlOid ? "SQL" : "EXTERNAL")
        .text("routine_definition", routine.source)
        .text("external_language", language == kLanguages.end() ? "" : language->name)
        .text("parameter_style", "GENERAL")
        .text("is_deterministic", routine.volatility == 'i' ? "YES" : "NO")
        .text("sql_data_access", "MODIFIES");
    if (routine.kind == 'f') row.text("is_null_call", routine.is_strict ? "YES" : "NO");
    row.text("schema_level_routine", "YES")
        .number("max_dynamic_result_sets", 0)
        .text("security_type", "INVOKER");
  }
}

}  // namespace

CatalogRowMaker find_routine_rows(const SystemRelation& relation) {
  if (relation.schema == kCatalogSchema && relation.name == "pg_proc") return add_routines;
  if (relation.schema == kCatalogSchema && relation.name == "pg_language") return add_languages;
  if (relation.schema == kInformationSchema && relation.name == "routines") return add_information_routines;
  return nullptr;
}

}  // namespace namdb::sql
