#include "compute/sql/system/catalog_rows.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/catalog/role_texts.h"
#include "compute/sql/catalog/type_routines.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/system/catalog_roles.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/enumeration.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

Oid collation_of(TypeId type) {
  constexpr Oid kC = 950;
  if (type == TypeId::name) return kC;
  return Type{type}.is_string() && type != TypeId::char1 && type != TypeId::json ? kDefaultCollationOid : 0;
}

char alignment_of(TypeId type) {
  if (Type{type}.is_array() && type_size(element_type(type)) >= 8 && alignment_of(element_type(type)) == 'd')
    return 'd';
  switch (type_size(type)) {
    case 1:
    case 64:
      return 'c';
    case 2:
      return 's';
    case 8:
    case 12:
      return 'd';
    case 16:
      return type == TypeId::uuid ? 'c' : 'd';
    default:
      return 'i';
  }
}

bool by_value(TypeId type) {
  const std::int16_t size = type_size(type);
  return size > 0 && size <= 8;
}

std::string_view storage_of(TypeId type) {
  if (type_size(type) > 0) return "p";
  return type == TypeId::numeric ? "m" : "x";
}

char category_of(TypeId type) {
  if (type == TypeId::char1) return 'Z';
  switch (Type{type}.type_class()) {
    case TypeClass::boolean:
      return 'B';
    case TypeClass::string:
      return type == TypeId::json ? 'U' : 'S';
    case TypeClass::time:
    case TypeClass::time_of_day:
      return 'D';
    case TypeClass::interval:
      return 'T';
    case TypeClass::bytes:
    case TypeClass::jsonb:
      return 'U';
    case TypeClass::enumeration:
      return 'E';
    case TypeClass::array:
      return 'A';
    default:
      return 'N';
  }
}

void add_types(CatalogRowWriter& rows, const VirtualTableInput& input) {
  std::vector<TypeId> types = all_types();
  for (const TypeId made : input.catalog->enumerations()) {
    types.push_back(made);
    types.push_back(array_of_made(made));
  }
  const RoleTexts roles(input, rows.arena());
  for (const TypeId type : types) {
    const TypeId element = element_type(type);
    const std::optional<TypeId> array = array_type(type);
    const TypeRoutines& routines = type_routines(type);
    const auto routine = [](const TypeRoutine& one) {
      Datum datum = Datum::of_integer(one.oid);
      datum.text = one.name;
      return datum;
    };
    rows.add()
        .number("oid", type_oid(type))
        .text("typname", internal_type_name(type))
        .number("typnamespace", is_made(type) ? kPublicSchemaOid : kCatalogSchemaOid)
        .number("typowner", is_made(type) ? roles.type_owner_oid(type) : system_owner_oid(input))
        .number("typlen", type_size(type))
        .flag("typbyval", by_value(type))
        .text("typtype", Type{type}.is_enumeration() ? "e" : "b")
        .text("typcategory", std::string(1, category_of(type)))
        .flag("typispreferred", is_preferred(type))
        .flag("typisdefined", true)
        .text("typdelim", ",")
        .number("typelem", element == TypeId::unknown ? 0 : type_oid(element))
        .number("typarray", array ? type_oid(*array) : 0)
        .set("typinput", routine(routines.input))
        .set("typoutput", routine(routines.output))
        .set("typreceive", routine(routines.receive))
        .set("typsend", routine(routines.send))
        .text("typalign", std::string(1, alignment_of(type)))
        .text("typstorage", storage_of(type))
        .number("typtypmod", -1)
        .number("typcollation", collation_of(type));
  }
}

void add_labels(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const TypeId type : input.catalog->enumerations()) {
    const Enumeration* const enumeration = known_enumeration(type);
    if (enumeration == nullptr) continue;
    for (const Enumeration::Value& value : enumeration->values) {
      rows.add()
          .number("oid", Catalog::label_oid(type, value.position))
          .number("enumtypid", type_oid(type))
          .set("enumsortorder",
               Datum::of_real(static_cast<double>(value.position) / static_cast<double>(kPosition_step)))
          .text("enumlabel", value.label);
    }
  }
}

void add_schemas(CatalogRowWriter& rows, const VirtualTableInput& input) {
  const RoleTexts roles(input, rows.arena());
  for (const Oid schema : kSchemaOids) {
    rows.add()
        .number("oid", schema)
        .text("nspname", schema_name(schema))
        .number("nspowner", schema == kPublicSchemaOid ? kDatabaseOwnerOid : roles.system_owner_oid())
        .set("nspacl", schema == kPublicSchemaOid ? roles.schema_grants() : Datum());
  }
}

std::int64_t column_count(const CatalogRelation& relation) {
  if (relation.system != nullptr) return static_cast<std::int64_t>(relation.system->columns.size());
  if (relation.kind == 'i') return static_cast<std::int64_t>(Catalog::columns_of(relation).size());
  if (relation.view != nullptr) return static_cast<std::int64_t>(relation.view->columns.size());
  return relation.kind == 'S' ? 3 : static_cast<std::int64_t>(shown_columns(relation.table->schema).size());
}

void add_relations(CatalogRowWriter& rows, const VirtualTableInput& input) {
  const RoleTexts roles(input, rows.arena());
  const std::set<std::uint32_t> in_foreign_keys = input.catalog->tables_in_foreign_keys();
  for (const CatalogRelation* const wanted : wanted_relations(input)) {
    const CatalogRelation& relation = *wanted;
    if (!relation.is_relation()) continue;
    const Oid method = relation.kind == 'r'       ? kHeapMethodOid
                       : relation.kind != 'i'     ? 0
                       : relation.is_hash_index() ? kHashMethodOid
                                                  : kBtreeMethodOid;
    rows.add()
        .number("oid", relation.oid)
        .text("relname", relation.name)
        .number("relnamespace", relation.schema)
        .number("relowner", roles.owner_oid(relation))
        .number("relam", method)
        .number("relfilenode", relation.oid)
        .set("reltuples", Datum::of_real(-1))
        .flag("relhasindex", relation.is_table())
        .text("relpersistence", "p")
        .text("relkind", std::string(1, relation.kind))
        .number("relnatts", column_count(relation))
        .number("relchecks",
                relation.is_table() ? static_cast<std::int64_t>(relation.table->checks.size()) : 0)
        .flag("relhasrules", relation.view != nullptr)
        .flag("relhastriggers", relation.is_table() && in_foreign_keys.contains(relation.table->id))
        .flag("relispopulated", true)
        .text("relreplident", relation.kind == 'r' ? "d" : "n")
        .set("relacl", roles.grants(relation));
  }
}

struct ShownColumn {
  std::string_view name;
  Type type;
  bool not_null = false;
  bool has_default = false;
  std::string_view identity;
  bool is_generated = false;
};

void add_column(CatalogRowWriter& rows, Oid relation, std::int64_t number, const ShownColumn& column) {
  const TypeId type = column.type.id;
  rows.add()
      .number("attrelid", relation)
      .text("attname", column.name)
      .number("atttypid", type_oid(type))
      .number("attstattarget", -1)
      .number("attlen", type_size(type))
      .number("attnum", number)
      .number("attndims", column.type.is_array() ? 1 : 0)
      .number("attcacheoff", -1)
      .number("atttypmod", column.type.modifier)
      .flag("attbyval", by_value(type))
      .text("attalign", std::string(1, alignment_of(type)))
      .text("attstorage", storage_of(type))
      .flag("attnotnull", column.not_null)
      .flag("atthasdef", column.has_default)
      .text("attidentity", column.identity)
      .text("attgenerated", column.is_generated ? "s" : "")
      .flag("attislocal", true)
      .number("attcollation", collation_of(type));
}

ShownColumn shown(const layout::Column& column) {
  const auto sequence = sequence_default_of(column);
  const bool is_identity = sequence && sequence->is_identity();
  const bool generated = is_generated(column);
  return {column.name,
          column_type(column),
          column.not_null,
          (has_default(column) && !is_identity) || generated,
          !is_identity            ? ""
          : sequence->is_always() ? "a"
                                  : "d",
          generated};
}

void add_columns(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation* const wanted : wanted_relations(input)) {
    const CatalogRelation& relation = *wanted;
    std::int64_t number = 0;
    if (relation.system != nullptr) {
      for (const SystemRelation::Column& column : relation.system->columns)
        add_column(rows, relation.oid, ++number, {column.name, column.type});
    } else if (relation.kind == 'S') {
      add_column(rows, relation.oid, ++number, {"last_value", {TypeId::int8}, true});
      add_column(rows, relation.oid, ++number, {"log_cnt", {TypeId::int8}, true});
      add_column(rows, relation.oid, ++number, {"is_called", {TypeId::boolean}, true});
    } else if (relation.kind == 'i') {
      const std::vector<std::string> names = index_column_names(relation);
      for (const layout::IndexColumn& part : Catalog::columns_of(relation)) {
        const layout::Column& column = relation.table->schema.columns()[part.column];
        const std::string& name = names[static_cast<std::size_t>(number)];
        add_column(rows, relation.oid, ++number, {name, column_type(column)});
      }
    } else if (relation.view != nullptr) {
      for (const View::Column& column : relation.view->columns)
        add_column(rows, relation.oid, ++number, {column.name, column.type});
    } else if (relation.is_table()) {
      for (const layout::Column& column : shown_columns(relation.table->schema))
        add_column(rows, relation.oid, ++number, shown(column));
    }
  }
}

// The operator class of an index's column; this default one has no name of its own in a definition.
constexpr Oid kDefaultClassOid = 1978;

Datum text_or_null(CatalogRowWriter& rows, const std::string& text) {
  return text.empty() ? Datum() : Datum::of_text(rows.arena().copy(text));
}

void add_indexes(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation* const wanted : wanted_relations(input)) {
    const CatalogRelation& index = *wanted;
    if (index.kind != 'i') continue;
    const std::vector<layout::IndexColumn> columns = Catalog::columns_of(index);
    ArrayWriter keys(TypeId::int2vector);
    ArrayWriter collations(TypeId::oidvector);
    ArrayWriter classes(TypeId::oidvector);
    ArrayWriter options(TypeId::int2vector);
    for (const layout::IndexColumn& column : columns) {
      const TypeId type = column_type(index.table->schema.columns()[column.column]).id;
      const auto own = indexed_column(index.table->schema, column.column);
      keys.add(Datum::of_integer(own ? *own + 1 : 0));
      collations.add(Datum::of_integer(collation_of(type)));
      classes.add(Datum::of_integer(kDefaultClassOid));
      options.add(Datum::of_integer(column.descending ? 3 : 0));  // DESC NULLS FIRST
    }
    const bool ready = index.index == nullptr || index.index->ready();
    const auto count = static_cast<std::int64_t>(columns.size());
    rows.add()
        .number("indexrelid", index.oid)
        .number("indrelid", Catalog::table_oid(index))
        .number("indnatts", count)
        .number("indnkeyatts", count)
        .flag("indisunique", index.is_unique_index())
        .flag("indisprimary", index.is_primary_key())
        .flag("indimmediate", true)
        .flag("indisvalid", ready)
        .flag("indisready", ready)
        .flag("indislive", true)
        .set("indkey", keys.finish(rows.arena()))
        .set("indcollation", collations.finish(rows.arena()))
        .set("indclass", classes.finish(rows.arena()))
        .set("indoption", options.finish(rows.arena()))
        .set("indexprs", text_or_null(rows, index_expressions_text(index)))
        .set("indpred", text_or_null(rows, index_predicate_text(index)));
  }
}

void add_sequences(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const CatalogRelation& sequence : input.catalog->relations()) {
    if (sequence.kind != 'S') continue;
    const txn::SequenceDefinition& definition = sequence.sequence->definition;
    rows.add()
        .number("seqrelid", sequence.oid)
        .number("seqtypid", type_oid(type_of(*sequence.sequence)))
        .number("seqstart", definition.start)
        .number("seqincrement", definition.increment)
        .number("seqmax", definition.most)
        .number("seqmin", definition.least)
        .number("seqcache", definition.block_numbers)
        .flag("seqcycle", definition.cycles);
  }
}

// A sequence belongs to its column by an automatic dependency, or by an internal one if that is an identity.
void add_descriptions(CatalogRowWriter& rows, const VirtualTableInput&) {
  constexpr Oid kNamespaceOid = 2615;  // pg_namespace
  rows.add()
      .number("objoid", kPublicSchemaOid)
      .number("classoid", kNamespaceOid)
      .text("description", "standard public schema");
}

void add_methods(CatalogRowWriter& rows, const VirtualTableInput&) {
  rows.add().number("oid", kHeapMethodOid).text("amname", "heap").text("amtype", "t");
  rows.add().number("oid", kBtreeMethodOid).text("amname", "btree").text("amtype", "i");
  rows.add().number("oid", kHashMethodOid).text("amname", "hash").text("amtype", "i");
}

void add_collations(CatalogRowWriter& rows, const VirtualTableInput& input) {
  struct Collation {
    Oid oid;
    std::string_view name;
    std::string_view provider;
  };
  constexpr std::array kCollations = {Collation{kDefaultCollationOid, "default", "d"},
                                      Collation{950, "C", "c"}, Collation{951, "POSIX", "c"}};
  for (const Collation& collation : kCollations)
    rows.add()
        .number("oid", collation.oid)
        .text("collname", collation.name)
        .number("collnamespace", kCatalogSchemaOid)
        .number("collowner", system_owner_oid(input))
        .text("collprovider", collation.provider)
        .flag("collisdeterministic", true)
        .number("collencoding", -1);
}

void add_database(CatalogRowWriter& rows, const VirtualTableInput& input) {
  rows.add()
      .number("oid", kDatabaseOid)
      .text("datname", input.facts->database)
      .number("datdba", system_owner_oid(input))
      .number("encoding", 6)
      .text("datlocprovider", "c")
      .flag("datallowconn", true)
      .number("datconnlimit", -1)
      .number("dattablespace", kTablespaceOid)
      .text("datcollate", "C")
      .text("datctype", "C");
}

void add_tablespaces(CatalogRowWriter& rows, const VirtualTableInput& input) {
  rows.add()
      .number("oid", kTablespaceOid)
      .text("spcname", "pg_default")
      .number("spcowner", system_owner_oid(input));
}

void add_classes(CatalogRowWriter& rows, const VirtualTableInput& input) {
  rows.add()
      .number("oid", kDefaultClassOid)
      .number("opcmethod", kBtreeMethodOid)
      .text("opcname", "default_ops")
      .number("opcnamespace", kCatalogSchemaOid)
      .number("opcowner", system_owner_oid(input))
      .flag("opcdefault", true);
}

struct Table {
  std::string_view name;
  CatalogRowMaker add_rows;
};

constexpr std::array kTables = {
    Table{"pg_class", add_relations},      Table{"pg_attribute", add_columns},
    Table{"pg_index", add_indexes},        Table{"pg_constraint", add_constraint_rows},
    Table{"pg_sequence", add_sequences},   Table{"pg_type", add_types},
    Table{"pg_enum", add_labels},          Table{"pg_description", add_descriptions},
    Table{"pg_namespace", add_schemas},    Table{"pg_am", add_methods},
    Table{"pg_collation", add_collations}, Table{"pg_opclass", add_classes},
    Table{"pg_database", add_database},    Table{"pg_tablespace", add_tablespaces},
    Table{"pg_authid", add_stored_roles},  Table{"pg_auth_members", add_memberships},
};

CatalogRowMaker find_table(const SystemRelation& relation) {
  const auto found = std::ranges::find(kTables, relation.name, &Table::name);
  const bool in_catalog = relation.schema == kCatalogSchema;
  return !in_catalog || found == kTables.end() ? nullptr : found->add_rows;
}

}  // namespace

std::vector<const CatalogRelation*> wanted_relations(const VirtualTableInput& input) {
  const WantedRelation& wanted = input.wanted;
  const auto is_wanted = [&wanted](const CatalogRelation& relation) {
    if (wanted.is_all()) return true;
    const bool by_name =
        relation.name == wanted.name || (relation.table != nullptr && relation.table->name == wanted.name);
    const bool by_oid = static_cast<std::int64_t>(relation.oid) == wanted.oid ||
                        (relation.table != nullptr && Catalog::table_oid(relation) == wanted.oid);
    return (wanted.name.empty() || by_name) && (wanted.oid == 0 || by_oid);
  };
  std::vector<const CatalogRelation*> relations;
  for (const CatalogRelation& relation : input.catalog->relations()) {
    if (is_wanted(relation)) relations.push_back(&relation);
  }
  return relations;
}

VirtualRows catalog_rows(const SystemRelation& relation, const VirtualTableInput& input) {
  CatalogRowWriter rows(relation, *input.arena);
  CatalogRowMaker add_rows = find_table(relation);
  if (add_rows == nullptr) add_rows = find_routine_rows(relation);
  if (add_rows == nullptr) add_rows = find_dependency_rows(relation);
  if (add_rows == nullptr) add_rows = find_catalog_view(relation);
  if (add_rows == nullptr) add_rows = find_information_view(relation);
  if (add_rows != nullptr) add_rows(rows, input);
  return rows.take();
}

}  // namespace namdb::sql
