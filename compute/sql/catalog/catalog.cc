#include "compute/sql/catalog/catalog.h"

#include <span>

#include "common/base/checksum.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

// Those below are PostgreSQL's own.
constexpr Oid kFirstOid = 16'384;
// Those of sequences and checks, which have no identity but their names, lie above.
constexpr Oid kFirstSequenceOid = 0x8000'0000;

// A table and its primary key have two identities, an index one. They do not collide until a cluster has made
// half a billion of them.
Oid oid_of(std::uint32_t id, std::uint32_t kind) {
  constexpr std::uint64_t kKinds = 3;
  return static_cast<Oid>(kFirstOid + (id * kKinds + kind) % (kFirstSequenceOid - kFirstOid));
}

Oid table_oid_of(const storage::Table& table) {
  return oid_of(table.id, 0);
}

Oid sequence_oid(std::string_view name) {
  return kFirstSequenceOid | static_cast<Oid>(checksum64(std::as_bytes(std::span(name))));
}

Oid check_oid(const storage::Table& table, const std::string& name) {
  return sequence_oid(std::to_string(table.id) + " " + name);
}

bool is_server_table(const storage::Table& table) {
  return table.name == storage::kTransactionsTable || table.name == storage::kSequencesTable;
}

}  // namespace

Catalog::Catalog(std::vector<storage::TableRef> tables) {
  for (const SystemRelation& system : system_relations()) {
    CatalogRelation relation;
    relation.oid = system.oid;
    relation.schema = system.schema == kCatalogSchema ? kCatalogSchemaOid : kInformationSchemaOid;
    relation.name = system.name;
    relation.kind = system.kind;
    relation.system = &system;
    add(std::move(relation));
  }
  for (const storage::TableRef& table : tables) add_table(table);
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
    const auto sequence = sequence_default_of(columns[i]);
    if (!sequence) continue;
    CatalogRelation filler = relation;
    filler.kind = 'S';
    filler.oid = sequence_oid(sequence->name);
    filler.name = sequence->name;
    filler.column = i;
    add(std::move(filler));
  }
}

const CatalogRelation* Catalog::find(std::int64_t oid) const {
  const auto found = by_oid_.find(static_cast<Oid>(oid));
  return found == by_oid_.end() ? nullptr : &relations_[found->second];
}

const CatalogRelation* Catalog::find(std::string_view schema, std::string_view name) const {
  for (const CatalogRelation& relation : relations_) {
    if (relation.name != name || relation.is_check()) continue;
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
  return oid_of(index.id, 2);
}

Oid Catalog::primary_key_oid(const storage::Table& table) {
  return oid_of(table.id, 1);
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
