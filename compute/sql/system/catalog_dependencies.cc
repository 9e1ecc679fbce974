// The rows of pg_attrdef, pg_rewrite and pg_depend: enough for a tool that writes the schema down, as pg_dump
// does, to put its parts into an order in which they can be made. A table's defaults come behind the
// sequences that they take numbers from, views behind the relations that they read. The procedures of
// libraries are parts of the server, and are not written down.
#include "compute/sql/catalog/catalog_routine.h"
#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/system/catalog_rows.h"
#include "compute/sql/value/generated_column.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

constexpr Oid kClassOid = 1259;     // pg_class
constexpr Oid kRoutineOid = 1255;   // pg_proc
constexpr Oid kDefaultOid = 2604;   // pg_attrdef
constexpr Oid kLanguageOid = 2612;  // pg_language
constexpr Oid kRewriteOid = 2618;   // pg_rewrite

Oid default_oid(Oid table, std::size_t column) {
  constexpr Oid kMostColumns = 1600;
  constexpr Oid kFirst = 0x8000'0000U;
  return kFirst | (table * kMostColumns + static_cast<Oid>(column));
}

bool is_identity(const layout::Column& column) {
  const auto sequence = sequence_default_of(column);
  return sequence && sequence->is_identity();
}

struct Dependency {
  Oid of_class = 0;
  Oid object = 0;
  Oid on_class = 0;
  Oid on_object = 0;
  std::int64_t on_column = 0;
  std::string_view type = "n";
};

void add(CatalogRowWriter& rows, const Dependency& dependency) {
  rows.add()
      .number("classid", dependency.of_class)
      .number("objid", dependency.object)
      .number("refclassid", dependency.on_class)
      .number("refobjid", dependency.on_object)
      .number("refobjsubid", dependency.on_column)
      .text("deptype", dependency.type);
}

void add_of_defaults(CatalogRowWriter& rows, const Catalog& catalog, const CatalogRelation& table) {
  const std::span<const layout::Column> columns = shown_columns(table.table->schema);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto filled = sequence_default_of(columns[i]);
    if (!filled || filled->is_identity()) continue;
    const CatalogRelation* const sequence = catalog.find("public", filled->name);
    if (sequence != nullptr) add(rows, {kDefaultOid, default_oid(table.oid, i), kClassOid, sequence->oid});
  }
}

// Of the rule that is the view's query.
void add_of_view(CatalogRowWriter& rows, const Catalog& catalog, const CatalogRelation& view) {
  add(rows, {kRewriteOid, view.oid, kClassOid, view.oid, 0, "i"});
  for (const auto& [name, read] : view.view->relations) {
    const CatalogRelation* const relation = catalog.find("public", name);
    if (relation != nullptr) add(rows, {kRewriteOid, view.oid, kClassOid, relation->oid});
  }
  for (const std::string& name : view.view->routines) {
    const CatalogRoutine* const routine = catalog.find_routine(name);
    if (routine != nullptr) add(rows, {kRewriteOid, view.oid, kRoutineOid, routine->oid});
  }
}

void add_dependencies(CatalogRowWriter& rows, const VirtualTableInput& input) {
  const Catalog& catalog = *input.catalog;
  for (const CatalogRelation& relation : catalog.relations()) {
    if (relation.kind == 'S' && relation.table != nullptr) {
      const bool identity = is_identity(relation.table->schema.columns()[relation.column]);
      add(rows, {kClassOid, relation.oid, kClassOid, Catalog::table_oid(relation), relation.column + 1,
                 identity ? "i" : "a"});
    }
    if (relation.is_table()) add_of_defaults(rows, catalog, relation);
    if (relation.view != nullptr) add_of_view(rows, catalog, relation);
  }
  for (const CatalogRoutine& routine : catalog.routines()) {
    if (routine.language == kLanguageCOid)
      add(rows, {kRoutineOid, routine.oid, kLanguageOid, kLanguageCOid, 0, "i"});
  }
}

void add_defaults(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation* const wanted : wanted_relations(input)) {
    const CatalogRelation& relation = *wanted;
    if (!relation.is_table()) continue;
    const std::span<const layout::Column> columns = shown_columns(relation.table->schema);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool has_one = has_default(columns[i]) && !is_identity(columns[i]);
      if (!has_one && !is_generated(columns[i])) continue;
      rows.add()
          .number("oid", default_oid(relation.oid, i))
          .number("adrelid", relation.oid)
          .number("adnum", static_cast<std::int64_t>(i + 1))
          .text("adbin", default_text(columns[i], input.catalog->hides_public()));
    }
  }
}

void add_rules(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& relation : input.catalog->relations()) {
    if (relation.view == nullptr) continue;
    rows.add()
        .number("oid", relation.oid)
        .text("rulename", "_RETURN")
        .number("ev_class", relation.oid)
        .text("ev_type", "1")
        .text("ev_enabled", "O")
        .flag("is_instead", true);
  }
}

}  // namespace

CatalogRowMaker find_dependency_rows(const SystemRelation& relation) {
  if (relation.schema != kCatalogSchema) return nullptr;
  if (relation.name == "pg_depend") return add_dependencies;
  if (relation.name == "pg_attrdef") return add_defaults;
  if (relation.name == "pg_rewrite") return add_rules;
  return nullptr;
}

}  // namespace namdb::sql
