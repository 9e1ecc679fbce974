// A worker's copy of the catalog (NAM-DB §6.1): refreshed by a call when a name is unknown or when a snapshot
// shows another catalog version. A refresh costs what has changed since the last one (catalog_changes.h), and
// keeps all other objects. A table that still exists keeps its object: only its arrays of main buckets and
// its indexes can have changed. A routine of the same version keeps its object, and so do the roles while
// none of them has changed.
//
// Tasks may refresh side by side: the latest version stays.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "compute/api/role.h"
#include "compute/api/routine.h"
#include "compute/api/table.h"
#include "compute/cluster/cluster.h"
#include "compute/cluster/role_descriptors.h"
#include "compute/cluster/table_descriptors.h"

namespace namdb::txn {

struct CatalogChanges;

class CatalogCache {
 public:
  explicit CatalogCache(Cluster& cluster) : cluster_(cluster) {}

  std::uint64_t version() const { return version_; }
  storage::TableRef find(std::string_view name) const;
  storage::TableRef find_id(std::uint32_t id) const;
  // False when the table was dropped or altered, or is known under a former connection only.
  bool current(const storage::Table& table) const;
  // Another table is to take that one's place.
  bool frozen(std::uint32_t table) const { return frozen_.contains(table); }
  bool has_frozen() const { return !frozen_.empty(); }
  bool has_foreign_keys() const { return !referencing_.empty(); }
  // In the order of their names.
  std::vector<storage::TableRef> all() const;
  // The table that has an index of that name; null when there is none.
  storage::TableRef table_of_index(std::string_view name) const;
  // The table that has that index, of any kind and state; null when there is none.
  storage::TableRef table_of_index(std::uint32_t id) const;
  // Null when there is none.
  storage::RoutineRef find_routine(std::string_view name) const;
  std::vector<storage::RoutineRef> routines() const;
  // Never null.
  const storage::RolesRef& roles() const { return roles_; }
  reactor::Task<Status> refresh();

 private:
  using Routines = std::map<std::string, storage::RoutineRef, std::less<>>;  // by name
  // Changes that are sound, made into objects.
  struct Update;
  // These are outside input.
  Result<Update> read(const CatalogChanges& changes) const;
  Status read_tables(const CatalogChanges& changes, Update* update) const;
  Status read_indexes(const CatalogChanges& changes, Update* update) const;
  Status read_routines(const CatalogChanges& changes, Update* update) const;
  Status read_roles(const CatalogChanges& changes, Update* update) const;
  void make(Update update);
  void forget_all();
  void forget(std::uint32_t id);
  void forget_name(const storage::Table& table);

  Cluster& cluster_;
  std::uint64_t version_ = 0;
  std::uint64_t position_ = 0;                                      // of the connection's GET_CATALOG
  std::map<std::string, storage::TableRef, std::less<>> by_name_;   // tables of rows
  std::map<std::uint32_t, std::shared_ptr<storage::Table>> by_id_;  // also those of hash indexes' entries
  std::map<std::uint32_t, std::uint32_t> index_tables_;             // of indexes, by their ids
  std::set<std::uint32_t> frozen_;                                  // tables
  std::set<std::uint32_t> referencing_;                             // tables with foreign keys
  Routines routines_;
  std::map<std::uint32_t, std::string> routine_names_;  // by their ids
  RoleEntries role_entries_;
  storage::RolesRef roles_ = std::make_shared<const storage::Roles>();
};

}  // namespace namdb::txn
