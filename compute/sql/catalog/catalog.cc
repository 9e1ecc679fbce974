#include "compute/sql/catalog/catalog.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "common/base/checksum.h"
#include "compute/api/long_value_tables.h"
#include "compute/api/server_table.h"
#include "compute/sql/catalog/temporary_name.h"
#include "compute/sql/value/enumeration.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

// A table and its primary key have two identities, an index one.
Oid table_oid_of(const storage::Table& table) {
  return stored_oid(table.id, 0);
}

// Sequences and checks have no identity but their names.
Oid sequence_oid(std::string_view name) {
  return kFirstNamedOid | static_cast<Oid>(checksum64(std::as_bytes(std::span(name))));
}

Oid check_oid(const storage::Table& table, const std::string& name) {
  return sequence_oid(std::to_string(table.id) + " " + name);
}

bool is_server_table(const storage::Table& table) {
  return table.name == storage::kTransactionsTable || table.name == storage::kSequencesTable ||
         table.name == txn::kLocksTable || table.name == txn::kLockSharesTable;
}

}  // namespace

Catalog::Catalog(std::vector<storage::TableRef> tables, std::vector<ViewRef> views,
                 std::vector<CatalogRoutine> routines, std::vector<CatalogSequence> sequences,
                 std::vector<TypeId> enumerations, std::string database, bool hides_public)
    : routines_(std::move(routines)),
      enumerations_(std::move(enumerations)),
      database_(std::move(database)),
      hides_public_(hides_public) {
  for (const SystemRelation& system : system_relations()) {
    CatalogRelation relation;
    relation.oid = system.oid;
    relation.schema = system.schema == kCatalogSchema ? kCatalogSchemaOid : kInformationSchemaOid;
    relation.name = system.name;
    relation.kind = system.kind;
    relation.system = &system;
    add(std::move(relation));
  }
  for (const storage::TableRef& table : tables) {
    if (!storage::keeps_long_values(table->name) && !is_temporary(table->name)) add_table(table);
  }
  std::vector<storage::TableRef> by_id = tables;
  std::ranges::sort(by_id, {}, [](const storage::TableRef& table) { return table->id; });
  for (const storage::TableRef& table : tables) add_foreign_keys(table, by_id);
  for (const ViewRef& view : views) {
    CatalogRelation relation;
    relation.kind = 'v';
    relation.oid = stored_oid(view->id, 0);
    relation.name = view->name;
    relation.view = view;
    add(std::move(relation));
  }
  add_sequences(std::move(sequences));
}

// The table of sequences says how those of columns are, and has others.
void Catalog::add_sequences(std::vector<CatalogSequence> sequences) {
  for (CatalogSequence& sequence : sequences) {
    if (is_temporary(sequence.name)) continue;
    const Oid oid = sequence_oid(sequence.name);
    const auto shared = std::make_shared<const CatalogSequence>(std::move(sequence));
    if (const auto known = by_oid_.find(oid); known != by_oid_.end()) {
      if (relations_[known->second].kind == 'S') relations_[known->second].sequence = shared;
      continue;
    }
    CatalogRelation relation;
    relation.kind = 'S';
    relation.oid = oid;
    relation.name = shared->name;
    relation.sequence = shared;
    add(std::move(relation));
  }
}

// `tables`: by their ids.
void Catalog::add_foreign_keys(const storage::TableRef& table, const std::vector<storage::TableRef>& tables) {
  for (const storage::ForeignKey& key : table->foreign_keys) {
    CatalogRelation constraint;
    constraint.kind = 'F';
    constraint.oid = check_oid(*table, key.name);
    constraint.name = key.name;
    constraint.table = table;
    constraint.foreign_key = &key;
    constraint.referenced = key.references == 0 ? table : nullptr;
    const auto other = std::ranges::lower_bound(tables, key.references, {},
                                                [](const storage::TableRef& each) { return each->id; });
    if (key.references != 0 && other != tables.end() && (*other)->id == key.references)
      constraint.referenced = *other;
    if (constraint.referenced != nullptr) add(std::move(constraint));
  }
}

Oid Catalog::referenced_oid(const CatalogRelation& foreign_key) {
  return table_oid_of(*foreign_key.referenced);
}

Catalog::UniqueKey Catalog::referenced_key(const CatalogRelation& foreign_key) {
  const storage::Table& table = *foreign_key.referenced;
  const std::vector<std::uint32_t> columns = foreign_key_columns(foreign_key, true);
  const std::set<std::uint32_t> wanted(columns.begin(), columns.end());
  const std::vector<std::uint32_t>& key = table.schema.key();
  if (!has_row_id(table.schema) && std::set<std::uint32_t>(key.begin(), key.end()) == wanted)
    return {primary_key_oid(table), table.primary_key_name(), key};
  for (const storage::IndexRef& index : table.indexes) {
    UniqueKey unique{index_oid(*index), index->name, {}};
    for (const layout::IndexColumn& column : index->shape.columns()) unique.columns.push_back(column.column);
    const std::set<std::uint32_t> has(unique.columns.begin(), unique.columns.end());
    if (index->unique && !index->replaced() && has == wanted) return unique;
  }
  return {};
}

std::vector<std::uint32_t> Catalog::foreign_key_columns(const CatalogRelation& foreign_key, bool referenced) {
  const storage::ForeignKey& key = *foreign_key.foreign_key;
  const layout::Schema& schema = (referenced ? foreign_key.referenced : foreign_key.table)->schema;
  std::vector<std::uint32_t> columns;
  for (const std::string& column : referenced ? key.referenced : key.columns) {
    if (const auto position = schema.find(column)) columns.push_back(*position);
  }
  return columns;
}

std::set<std::uint32_t> Catalog::tables_in_foreign_keys() const {
  std::set<std::uint32_t> tables;
  for (const CatalogRelation& one : relations_) {
    if (!one.is_foreign_key()) continue;
    tables.insert(one.table->id);
    tables.insert(one.referenced->id);
  }
  return tables;
}

void Catalog::add(CatalogRelation relation) {
  by_oid_.emplace(relation.oid, relations_.size());
  relations_.push_back(std::move(relation));
}

void Catalog::add_table(const storage::TableRef& table) {
  CatalogRelation relation;
  relation.table = table;
  // The server's own tables are not among the user's.
  if (is_server_table(*table)) relation.schema = kCatalogSchemaOid;
  CatalogRelation own = relation;
  own.oid = table_oid_of(*table);
  own.name = table->name;
  add(std::move(own));
  CatalogRelation primary_key = relation;
  primary_key.kind = 'i';
  primary_key.oid = primary_key_oid(*table);
  primary_key.name = table->primary_key_name();
  for (const storage::IndexRef& index : table->indexes) {
    if (index->primary && !index->replaced()) primary_key.index = index;
  }
  if (!has_row_id(table->schema)) add(std::move(primary_key));
  for (const storage::IndexRef& index : table->indexes) {
    if (index->replaced() || index->primary) continue;
    CatalogRelation secondary = relation;
    secondary.kind = 'i';
    secondary.oid = index_oid(*index);
    secondary.name = index->name;
    secondary.index = index;
    add(std::move(secondary));
  }
  for (const storage::TableCheck& check : table->checks) {
    CatalogRelation constraint = relation;
    constraint.kind = 'C';
    constraint.oid = check_oid(*table, check.name);
    constraint.name = check.name;
    constraint.check = &check;
    add(std::move(constraint));
  }
  const std::vector<layout::Column>& columns = table->schema.columns();
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    const auto sequence = owned_sequence_of(columns[i]);
    if (!sequence) continue;
    CatalogRelation filler = relation;
    filler.kind = 'S';
    filler.oid = sequence_oid(sequence->name);
    filler.name = sequence->name;
    filler.column = i;
    // Until the table of sequences is read.
    CatalogSequence made;
    made.name = sequence->name;
    made.definition.most = greatest_number(columns[i].type);
    made.definition.value_bytes = static_cast<std::uint32_t>(type_size(column_type(columns[i]).id));
    made.definition.block_numbers = 32;
    filler.sequence = std::make_shared<const CatalogSequence>(std::move(made));
    add(std::move(filler));
  }
}

const CatalogRelation* Catalog::find(std::int64_t oid) const {
  const auto found = by_oid_.find(static_cast<Oid>(oid));
  return found == by_oid_.end() ? nullptr : &relations_[found->second];
}

const CatalogRelation* Catalog::find(std::string_view schema, std::string_view name) const {
  for (const CatalogRelation& relation : relations_) {
    if (relation.name != name || !relation.is_relation()) continue;
    // information_schema is not searched, and the server's tables are found by their names alone.
    const bool matches =
        schema.empty() ? relation.schema != kInformationSchemaOid : schema == schema_name(relation.schema);
    if (matches) return &relation;
  }
  return nullptr;
}

std::vector<layout::IndexColumn> Catalog::columns_of(const CatalogRelation& index) {
  if (index.index != nullptr) {
    const auto columns = index.index->shape.columns();
    return {columns.begin(), columns.end()};
  }
  std::vector<layout::IndexColumn> columns;
  for (const std::uint32_t column : index.table->schema.key()) columns.push_back({column, false});
  return columns;
}

Oid Catalog::table_oid(const CatalogRelation& relation) {
  return table_oid_of(*relation.table);
}

Oid Catalog::index_oid(const storage::Index& index) {
  return stored_oid(index.id, 2);
}

Oid Catalog::object_oid(std::uint32_t id) {
  return stored_oid(id, 0);
}

Oid Catalog::primary_key_oid(const storage::Table& table) {
  return stored_oid(table.id, 1);
}

// Tables and routines are numbered together.
Oid Catalog::routine_oid(const storage::Routine& routine) {
  return stored_oid(routine.id, 0);
}

Oid Catalog::library_routine_oid(std::string_view name) {
  return sequence_oid("library " + std::string(name));
}

Oid Catalog::label_oid(TypeId enumeration, std::int64_t position) {
  return sequence_oid("label " + std::to_string(enumeration_id(enumeration)) + " " +
                      std::to_string(position));
}

const CatalogRoutine* Catalog::find_routine(std::int64_t oid) const {
  const auto found = std::ranges::find(routines_, static_cast<Oid>(oid), &CatalogRoutine::oid);
  return found == routines_.end() ? nullptr : &*found;
}

const CatalogRoutine* Catalog::find_routine(std::string_view name) const {
  const auto found = std::ranges::find(routines_, name, &CatalogRoutine::name);
  return found == routines_.end() ? nullptr : &*found;
}

std::string_view schema_name(Oid schema) {
  switch (schema) {
    case kCatalogSchemaOid:
      return kCatalogSchema;
    case kInformationSchemaOid:
      return kInformationSchema;
    default:
      return "public";
  }
}

}  // namespace namdb::sql
