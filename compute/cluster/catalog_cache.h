// A worker's copy of the catalog (NAM-DB §6.1): refreshed by a call when a name is unknown or when a snapshot
// shows another catalog version. A refresh keeps the objects of tables that are still there: all that can
// have changed in them is where their main buckets are, and which indexes they have. It keeps those of
// routines whose version is the same, and that of the roles while none of them has changed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "compute/api/role.h"
#include "compute/api/routine.h"
#include "compute/api/table.h"
#include "compute/cluster/cluster.h"
#include "proto/control_types.h"

namespace namdb::txn {

// Outside input: error corrupt_data when the description is malformed.
Result<std::shared_ptr<storage::Table>> table_from_descriptor(const control::TableDescriptor& descriptor,
                                                              std::size_t server_count);
// Of an index of that table. The same.
Result<storage::IndexRef> index_from_descriptor(const control::IndexDescriptor& descriptor,
                                                const storage::Table& table, std::size_t server_count);
// Of a hash index of that table, whose entries are in the other.
Result<storage::IndexRef> hash_index_from_descriptor(const control::TableDescriptor& descriptor,
                                                     const storage::Table& table, storage::TableRef entries);
control::Column descriptor_of(const layout::Column& column);
control::TableDescriptor descriptor_of(const std::string& name, const layout::Schema& schema);

class CatalogCache {
 public:
  explicit CatalogCache(Cluster& cluster) : cluster_(cluster) {}

  std::uint64_t version() const { return version_; }
  storage::TableRef find(std::string_view name) const;
  storage::TableRef find_id(std::uint32_t id) const;
  // False when the table was dropped or altered, or is known under a former connection only.
  bool current(const storage::Table& table) const;
  // Another table is to take that one's place.
  bool frozen(std::uint32_t table) const;
  bool has_frozen() const { return has_frozen_; }
  bool has_foreign_keys() const { return has_foreign_keys_; }
  std::vector<storage::TableRef> all() const;
  // The table that has an index of that name; null when there is none.
  storage::TableRef table_of_index(std::string_view name) const;
  // Null when there is none.
  storage::RoutineRef find_routine(std::string_view name) const;
  std::vector<storage::RoutineRef> routines() const;
  // Never null.
  const storage::RolesRef& roles() const { return roles_; }
  reactor::Task<Status> refresh();

 private:
  using Routines = std::map<std::string, storage::RoutineRef, std::less<>>;  // by name
  // Outside input.
  Result<Routines> routines_of(const control::GetCatalogReply& reply) const;

  Cluster& cluster_;
  std::uint64_t version_ = 0;
  bool has_frozen_ = false;
  bool has_foreign_keys_ = false;
  std::map<std::string, storage::TableRef, std::less<>> by_name_;   // tables of rows
  std::map<std::uint32_t, std::shared_ptr<storage::Table>> by_id_;  // also those of hash indexes' entries
  Routines routines_;
  storage::RolesRef roles_ = std::make_shared<const storage::Roles>();
};

}  // namespace namdb::txn
