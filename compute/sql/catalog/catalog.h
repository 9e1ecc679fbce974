// The catalog as PostgreSQL's clients see it: relations with their identities (OIDs), made from the tables
// that the engine has. It never changes; each statement that asks for it has one of its own.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compute/api/routine.h"
#include "compute/api/table.h"
#include "compute/sql/catalog/catalog_routine.h"
#include "compute/sql/catalog/catalog_sequence.h"
#include "compute/sql/catalog/system_relations.h"
#include "compute/sql/catalog/view.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

inline constexpr Oid kCatalogSchemaOid = 11;
inline constexpr Oid kPublicSchemaOid = 2200;
inline constexpr Oid kInformationSchemaOid = 13'000;
inline constexpr std::array kSchemaOids = {kCatalogSchemaOid, kPublicSchemaOid, kInformationSchemaOid};
inline constexpr Oid kOwnerOid = 10;  // while there are no roles: the session's user
inline constexpr Oid kDatabaseOid = 5;
inline constexpr Oid kTablespaceOid = 1663;
inline constexpr Oid kHeapMethodOid = 2;
inline constexpr Oid kBtreeMethodOid = 403;
inline constexpr Oid kHashMethodOid = 405;
inline constexpr Oid kDefaultCollationOid = 100;

struct CatalogRelation {
  Oid oid = 0;
  Oid schema = kPublicSchemaOid;
  std::string name;
  char kind = 'r';  // as pg_class.relkind has it: r, v, i (index), S (sequence); or C, F
  const SystemRelation* system = nullptr;  // null: it is made from `table`
  storage::TableRef table;                 // of an index or a sequence: the table it belongs to
  storage::IndexRef index;                 // null for kind i: a primary key without an order
  std::uint32_t column = 0;                // of a sequence: the column that owns it
  // The sequence of a relation of kind S. Without a `table` no column owns it.
  std::shared_ptr<const CatalogSequence> sequence;
  // Of kinds C and F: a CHECK, or a foreign key with the table that it references. They are not relations,
  // but have identities.
  const storage::TableCheck* check = nullptr;
  const storage::ForeignKey* foreign_key = nullptr;
  storage::TableRef referenced;
  ViewRef view;  // null: it is not a view, or one of PostgreSQL's

  bool is_table() const { return kind == 'r' && table != nullptr; }
  bool is_primary_key() const { return kind == 'i' && (index == nullptr || index->primary); }
  bool is_unique_index() const { return is_primary_key() || (kind == 'i' && index->unique); }
  bool is_hash_index() const { return kind == 'i' && (index == nullptr || index->hash); }
  bool is_check() const { return kind == 'C'; }
  bool is_foreign_key() const { return kind == 'F'; }
  bool is_relation() const { return !is_check() && !is_foreign_key(); }
  // A CHECK, a foreign key, or an index that a constraint has made.
  bool is_constraint() const {
    return !is_relation() || (kind == 'i' && (index == nullptr || index->constraint));
  }
};

class Catalog {
 public:
  explicit Catalog(std::vector<storage::TableRef> tables, std::vector<ViewRef> views = {},
                   std::vector<CatalogRoutine> routines = {}, std::vector<CatalogSequence> sequences = {},
                   std::vector<TypeId> enumerations = {}, std::string database = {},
                   bool hides_public = false);
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  const std::vector<CatalogRelation>& relations() const { return relations_; }
  // Null: there is none.
  const CatalogRelation* find(std::int64_t oid) const;
  // Without a schema, pg_catalog comes before public.
  const CatalogRelation* find(std::string_view schema, std::string_view name) const;

  const std::string& database() const { return database_; }
  // The schema public is not searched: names in it are shown with the schema.
  bool hides_public() const { return hides_public_; }

  // Known to the process.
  const std::vector<TypeId>& enumerations() const { return enumerations_; }
  const std::vector<CatalogRoutine>& routines() const { return routines_; }
  // Null: there is none.
  const CatalogRoutine* find_routine(std::int64_t oid) const;
  const CatalogRoutine* find_routine(std::string_view name) const;

  // The columns of an index, in the order of its definition.
  static std::vector<layout::IndexColumn> columns_of(const CatalogRelation& index);
  // The identity of the table that an index or a sequence belongs to.
  static Oid table_oid(const CatalogRelation& relation);
  static Oid index_oid(const storage::Index& index);
  static Oid primary_key_oid(const storage::Table& table);
  // The oid of a table, or of another object that has its number from the same row.
  static Oid object_oid(std::uint32_t id);
  static Oid routine_oid(const storage::Routine& routine);
  static Oid library_routine_oid(std::string_view name);
  // The oid of a label of an enumeration.
  static Oid label_oid(TypeId enumeration, std::int64_t position);
  // Of a foreign key: the table that it references, its unique key there, and the name of that.
  static Oid referenced_oid(const CatalogRelation& foreign_key);
  struct UniqueKey {
    Oid index = 0;
    std::string name;
    std::vector<std::uint32_t> columns;  // in their order
  };
  static UniqueKey referenced_key(const CatalogRelation& foreign_key);
  // Positions in its own table, and in the one that it references.
  static std::vector<std::uint32_t> foreign_key_columns(const CatalogRelation& foreign_key, bool referenced);
  // The ids of the tables that have foreign keys, or are referenced by one.
  std::set<std::uint32_t> tables_in_foreign_keys() const;

 private:
  void add(CatalogRelation relation);
  void add_table(const storage::TableRef& table);
  void add_sequences(std::vector<CatalogSequence> sequences);
  void add_foreign_keys(const storage::TableRef& table, const std::vector<storage::TableRef>& tables);

  std::vector<CatalogRelation> relations_;
  std::vector<CatalogRoutine> routines_;
  std::vector<TypeId> enumerations_;
  absl::flat_hash_map<Oid, std::size_t> by_oid_;
  std::string database_;
  bool hides_public_ = false;
};

std::string_view schema_name(Oid schema);

}  // namespace namdb::sql
