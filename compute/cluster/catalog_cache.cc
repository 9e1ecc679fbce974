#include "compute/cluster/catalog_cache.h"

#include <algorithm>
#include <utility>

#include "compute/cluster/catalog_changes.h"
#include "proto/control.pb.h"

namespace namdb::txn {

using storage::TableRef;

struct CatalogCache::Update {
  struct Table {
    std::shared_ptr<storage::Table> object;  // a known one, or another
    std::vector<layout::BucketArray> arrays;
    bool frozen = false;
    bool is_of_rows = false;
  };
  bool whole = false;
  std::uint64_t version = 0;
  std::uint64_t position = 0;
  std::set<std::uint32_t> dropped;
  std::map<std::uint32_t, Table> tables;
  std::vector<storage::IndexRef> indexes;
  std::vector<storage::RoutineRef> routines;
  bool has_roles = false;
  RoleEntries role_entries;
  storage::RolesRef roles;
};

bool CatalogCache::current(const storage::Table& table) const {
  const auto found = by_id_.find(table.id);
  // Another object with older arrays, of a former connection, may lead to memory that is something else now.
  if (found == by_id_.end()) return false;
  return found->second.get() == &table ||
         (found->second->arrays == table.arrays && found->second->altered_version == table.altered_version);
}

TableRef CatalogCache::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

TableRef CatalogCache::find_id(std::uint32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

TableRef CatalogCache::table_of_index(std::string_view name) const {
  for (const auto& [id, table] : by_id_) {
    for (const storage::IndexRef& index : table->indexes) {
      if (index->name == name && !index->replaced()) return table;
    }
  }
  return nullptr;
}

TableRef CatalogCache::table_of_index(std::uint32_t id) const {
  const auto found = index_tables_.find(id);
  return found == index_tables_.end() ? nullptr : find_id(found->second);
}

std::vector<TableRef> CatalogCache::all() const {
  std::vector<TableRef> tables;
  tables.reserve(by_name_.size());
  for (const auto& [name, table] : by_name_) tables.push_back(table);
  return tables;
}

storage::RoutineRef CatalogCache::find_routine(std::string_view name) const {
  const auto found = routines_.find(name);
  return found == routines_.end() ? nullptr : found->second;
}

std::vector<storage::RoutineRef> CatalogCache::routines() const {
  std::vector<storage::RoutineRef> routines;
  for (const auto& [name, routine] : routines_) routines.push_back(routine);
  return routines;
}

// --- reading ---

Status CatalogCache::read_tables(const CatalogChanges& changes, Update* update) const {
  for (const auto& [id, descriptor] : changes.tables) {
    auto made = table_from_descriptor(descriptor, cluster_.server_count());
    if (!made.ok()) return made.status();
    Update::Table& table = update->tables[id];
    table.object = std::move(made).value();
    table.arrays = table.object->arrays;
    table.frozen = descriptor.frozen();
    table.is_of_rows = !descriptor.has_hash_index();
    const auto known = by_id_.find(id);
    if (known != by_id_.end() && known->second->generation == descriptor.generation() &&
        known->second->altered_version == descriptor.altered_version())
      table.object = known->second;
  }
  return {};
}

Status CatalogCache::read_indexes(const CatalogChanges& changes, Update* update) const {
  const auto table_with = [&](std::uint32_t id) -> const storage::Table* {
    if (const auto changed = update->tables.find(id); changed != update->tables.end())
      return changed->second.object.get();
    const auto known = by_id_.find(id);
    const bool is_there = known != by_id_.end() && !changes.whole && !changes.dropped.contains(id);
    return is_there ? known->second.get() : nullptr;
  };
  const auto has_no_table = [](const std::string& name) {
    return Status(ErrorCode::corrupt_data, "index \"" + name + "\" has no table");
  };
  for (const auto& [id, descriptor] : changes.indexes) {
    const storage::Table* const table = table_with(descriptor.table());
    if (table == nullptr) return has_no_table(descriptor.name());
    auto made = index_from_descriptor(descriptor, *table, cluster_.server_count());
    if (!made.ok()) return made.status();
    update->indexes.push_back(std::move(*made));
  }
  for (const auto& [id, descriptor] : changes.tables) {
    if (!descriptor.has_hash_index()) continue;
    const storage::Table* const table = table_with(descriptor.hash_index().table());
    if (table == nullptr || table->schema.chained()) return has_no_table(descriptor.name());
    auto made = hash_index_from_descriptor(descriptor, *table, update->tables[id].object);
    if (!made.ok()) return made.status();
    update->indexes.push_back(std::move(*made));
  }
  return {};
}

Status CatalogCache::read_routines(const CatalogChanges& changes, Update* update) const {
  std::set<std::string> names;
  for (const auto& [id, descriptor] : changes.routines) {
    storage::RoutineRef routine = find_routine(descriptor.name());
    const bool is_known = routine != nullptr && routine->id == id && routine->version == descriptor.version();
    const bool is_others = routine != nullptr && routine->id != id && !changes.whole &&
                           !changes.dropped.contains(routine->id) && !changes.routines.contains(routine->id);
    if (!is_known) {
      routine = std::make_shared<const storage::Routine>(
          storage::Routine{id, descriptor.name(), descriptor.definition(), descriptor.version()});
    }
    const bool is_sound = id != 0 && !descriptor.name().empty() && descriptor.version() != 0 &&
                          descriptor.version() <= changes.version && !is_others;
    if (!is_sound || !names.insert(descriptor.name()).second)
      return Status(ErrorCode::corrupt_data,
                    "the catalog's entry of procedure \"" + descriptor.name() + "\" makes no sense");
    update->routines.push_back(std::move(routine));
  }
  return {};
}

Status CatalogCache::read_roles(const CatalogChanges& changes, Update* update) const {
  if (version_ != 0 && roles_->version() == changes.roles_version) return {};
  update->has_roles = true;
  if (!changes.whole) update->role_entries = role_entries_;
  for (const std::uint32_t id : changes.dropped) {
    update->role_entries.roles.erase(id);
    update->role_entries.rights.erase(id);
  }
  for (const auto& [id, role] : changes.roles) {
    if (Status status = add_role(role, &update->role_entries); !status.ok()) return status;
  }
  for (const auto& [id, rights] : changes.rights) {
    if (Status status = add_rights(rights, &update->role_entries); !status.ok()) return status;
  }
  auto roles = roles_of(update->role_entries, changes.roles_version);
  if (!roles.ok()) return roles.status();
  update->roles = *std::move(roles);
  return {};
}

Result<CatalogCache::Update> CatalogCache::read(const CatalogChanges& changes) const {
  Update update;
  update.whole = changes.whole;
  update.version = changes.version;
  update.position = changes.position;
  update.dropped = changes.dropped;
  if (Status status = read_tables(changes, &update); !status.ok()) return status;
  if (Status status = read_indexes(changes, &update); !status.ok()) return status;
  if (Status status = read_routines(changes, &update); !status.ok()) return status;
  if (Status status = read_roles(changes, &update); !status.ok()) return status;
  return update;
}

// --- making ---

void CatalogCache::forget_all() {
  by_name_.clear();
  by_id_.clear();
  index_tables_.clear();
  frozen_.clear();
  referencing_.clear();
  routines_.clear();
  routine_names_.clear();
}

void CatalogCache::forget_name(const storage::Table& table) {
  const auto named = by_name_.find(table.name);
  if (named != by_name_.end() && named->second->id == table.id) by_name_.erase(named);
}

void CatalogCache::forget(std::uint32_t id) {
  if (const auto table = by_id_.find(id); table != by_id_.end()) {
    forget_name(*table->second);
    by_id_.erase(table);
    frozen_.erase(id);
    referencing_.erase(id);
  }
  if (const auto index = index_tables_.find(id); index != index_tables_.end()) {
    const auto table = by_id_.find(index->second);
    if (table != by_id_.end())
      std::erase_if(table->second->indexes, [id](const auto& other) { return other->id == id; });
    index_tables_.erase(index);
  }
  if (const auto routine = routine_names_.find(id); routine != routine_names_.end()) {
    const auto named = routines_.find(routine->second);
    if (named != routines_.end() && named->second->id == id) routines_.erase(named);
    routine_names_.erase(routine);
  }
}

void CatalogCache::make(Update update) {
  if (update.whole) forget_all();
  for (const std::uint32_t id : update.dropped) forget(id);
  // All former names first: another table may have one of them now.
  for (const auto& [id, table] : update.tables) {
    const auto known = by_id_.find(id);
    if (known != by_id_.end()) forget_name(*known->second);
  }
  for (auto& [id, table] : update.tables) {
    std::shared_ptr<storage::Table>& entry = by_id_[id];
    if (update.whole) table.object->indexes.clear();
    if (entry != nullptr && entry != table.object) table.object->indexes = entry->indexes;
    entry = table.object;
    entry->arrays = std::move(table.arrays);
    entry->frozen = table.frozen;
    if (table.is_of_rows) by_name_.insert_or_assign(entry->name, entry);
    frozen_.erase(id);
    if (table.frozen) frozen_.insert(id);
    referencing_.erase(id);
    if (!entry->foreign_keys.empty()) referencing_.insert(id);
  }
  for (storage::IndexRef& index : update.indexes) {
    index_tables_[index->id] = index->table;
    std::vector<storage::IndexRef>& indexes = by_id_[index->table]->indexes;
    const auto place =
        std::ranges::lower_bound(indexes, index->id, {}, [](const auto& other) { return other->id; });
    if (place != indexes.end() && (*place)->id == index->id) {
      *place = std::move(index);
    } else {
      indexes.insert(place, std::move(index));
    }
  }
  for (storage::RoutineRef& routine : update.routines) {
    routine_names_[routine->id] = routine->name;
    routines_.insert_or_assign(routine->name, std::move(routine));
  }
  if (update.has_roles) {
    role_entries_ = std::move(update.role_entries);
    roles_ = std::move(update.roles);
  }
  version_ = update.version;
  position_ = update.position;
}

reactor::Task<Status> CatalogCache::refresh() {
  CatalogChanges changes;
  Status status = co_await read_changes(&cluster_, version_, position_, &changes);
  if (!status.ok()) co_return status;
  // It is as it was, or another task has learned more meanwhile. Changes that begin before what is known now
  // are those of the same entries, and end behind it.
  if (changes.version <= version_) co_return Status();
  auto update = read(changes);
  if (!update.ok()) co_return update.status();
  make(*std::move(update));
  co_return Status();
}

}  // namespace namdb::txn
