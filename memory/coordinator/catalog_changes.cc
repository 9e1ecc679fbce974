// The catalog's entries: how they are kept and found, and which have changed behind a position.
#include <algorithm>
#include <utility>

#include "memory/coordinator/catalog.h"

namespace namdb::memory {
namespace {

// In a reply, with the field's number and its length.
std::size_t sent_bytes(const google::protobuf::MessageLite& entry) {
  return entry.ByteSizeLong() + 8;
}

constexpr std::size_t kId_bytes = 5;

}  // namespace

// --- entries ---

void Catalog::note_change(Kind kind, std::uint32_t id) {
  if (const std::uint64_t* const before = positions_.get(id)) {
    drops_.erase(*before);
    changes_.erase(*before);
  }
  ++position_;
  changes_.put(position_, Change{id, kind});
  positions_.put(id, position_);
}

void Catalog::note_drop(Kind kind, std::uint32_t id) {
  note_change(kind, id);
  drops_.put(position_, id);
}

void Catalog::forget_drops(std::uint64_t position) {
  while (drops_.size() > kRememberedDrops) {
    const auto [dropped, id] = *drops_.begin();
    if (dropped > position) return;
    drops_.erase(dropped);
    changes_.erase(dropped);
    positions_.erase(id);
    forgotten_ = dropped;
  }
}

const control::TableDescriptor* Catalog::find_table(std::uint32_t id) const {
  const std::string* const name = names_.get(id);
  const control::TableDescriptor* const table = name == nullptr ? nullptr : tables_.get(*name);
  return table != nullptr && table->id() == id ? table : nullptr;
}

const control::IndexDescriptor* Catalog::find_index(std::uint32_t id) const {
  if (const control::IndexDescriptor* const beside = indexes_beside_.get(id)) return beside;
  const std::string* const name = names_.get(id);
  const control::IndexDescriptor* const index = name == nullptr ? nullptr : indexes_.get(*name);
  return index != nullptr && index->id() == id ? index : nullptr;
}

bool Catalog::is_beside(const control::IndexDescriptor& index) {
  return index.replaces() != 0 || index.replaced_version() != 0;
}

std::vector<std::uint32_t> Catalog::second_of(const PersistentMap<Pair, bool>& pairs, std::uint32_t first) {
  std::vector<std::uint32_t> ids;
  for (auto pair = pairs.upper_bound({first, 0}); pair != pairs.end() && pair->first.first == first; ++pair)
    ids.push_back(pair->first.second);
  return ids;
}

std::vector<std::uint32_t> Catalog::indexes_of(std::uint32_t table) const {
  return second_of(table_indexes_, table);
}

std::vector<std::uint32_t> Catalog::referencing(std::uint32_t table) const {
  return second_of(references_, table);
}

void Catalog::put_table(control::TableDescriptor table) {
  const std::uint32_t id = table.id();
  bool is_altered = false;
  if (const control::TableDescriptor* const before = find_table(id)) {
    is_altered = before->altered_version() != table.altered_version();
    encoded_bytes_ -= encoded_bytes(*before);
    for (const control::ForeignKey& key : before->foreign_keys()) references_.erase({key.references(), id});
    tables_.erase(before->name());
  }
  encoded_bytes_ += encoded_bytes(table);
  for (const control::ForeignKey& key : table.foreign_keys()) {
    if (key.references() != 0) references_.put({key.references(), id}, true);
  }
  if (table.has_hash_index()) table_indexes_.put({table.hash_index().table(), id}, true);
  names_.put(id, table.name());
  std::string name = table.name();
  tables_.put(std::move(name), std::move(table));
  note_change(Kind::table, id);
  if (!is_altered) return;
  // Workers make another object of the table, and need its indexes to go with it.
  for (const std::uint32_t index : indexes_of(id))
    note_change(find_table(index) != nullptr ? Kind::table : Kind::index, index);
}

void Catalog::erase_table(std::uint32_t id) {
  const control::TableDescriptor& table = *find_table(id);
  encoded_bytes_ -= encoded_bytes(table);
  for (const control::ForeignKey& key : table.foreign_keys()) references_.erase({key.references(), id});
  if (table.has_hash_index()) table_indexes_.erase({table.hash_index().table(), id});
  tables_.erase(std::string(table.name()));
  names_.erase(id);
  note_drop(Kind::table, id);
}

void Catalog::put_index(control::IndexDescriptor index) {
  const std::uint32_t id = index.id();
  if (const control::IndexDescriptor* const before = find_index(id)) {
    encoded_bytes_ -= before->ByteSizeLong() + kFrame_bytes;
    if (is_beside(*before)) {
      indexes_beside_.erase(id);
    } else {
      indexes_.erase(std::string(before->name()));
      names_.erase(id);
    }
  }
  encoded_bytes_ += index.ByteSizeLong() + kFrame_bytes;
  table_indexes_.put({index.table(), id}, true);
  if (is_beside(index)) {
    indexes_beside_.put(id, std::move(index));
  } else {
    names_.put(id, index.name());
    std::string name = index.name();
    indexes_.put(std::move(name), std::move(index));
  }
  note_change(Kind::index, id);
}

void Catalog::erase_index(std::uint32_t id) {
  const control::IndexDescriptor& index = *find_index(id);
  encoded_bytes_ -= index.ByteSizeLong() + kFrame_bytes;
  table_indexes_.erase({index.table(), id});
  if (is_beside(index)) {
    indexes_beside_.erase(id);
  } else {
    indexes_.erase(std::string(index.name()));
    names_.erase(id);
  }
  note_drop(Kind::index, id);
}

void Catalog::put_routine(control::RoutineDescriptor routine) {
  const std::uint32_t id = routine.id();
  if (const control::RoutineDescriptor* const before = routines_.get(routine.name()))
    encoded_bytes_ -= before->ByteSizeLong() + kFrame_bytes;
  encoded_bytes_ += routine.ByteSizeLong() + kFrame_bytes;
  names_.put(id, routine.name());
  std::string name = routine.name();
  routines_.put(std::move(name), std::move(routine));
  note_change(Kind::routine, id);
}

void Catalog::erase_routine(std::uint32_t id) {
  const std::string name = names_.at(id);
  encoded_bytes_ -= routines_.at(name).ByteSizeLong() + kFrame_bytes;
  routines_.erase(name);
  names_.erase(id);
  note_drop(Kind::routine, id);
}

void Catalog::put_role(control::RoleDescriptor role) {
  const std::uint32_t id = role.id();
  control::RoleDescriptor& entry = roles_[id];
  if (entry.id() != 0) encoded_bytes_ -= entry.ByteSizeLong() + kFrame_bytes;
  encoded_bytes_ += role.ByteSizeLong() + kFrame_bytes;
  entry = std::move(role);
  note_change(Kind::role, id);
}

void Catalog::erase_role(std::uint32_t id) {
  const auto role = roles_.find(id);
  encoded_bytes_ -= role->second.ByteSizeLong() + kFrame_bytes;
  roles_.erase(role);
  note_drop(Kind::role, id);
}

void Catalog::put_rights(control::ObjectRights rights) {
  const std::uint32_t id = rights.id();
  if (const control::ObjectRights* const before = rights_.get(id)) {
    encoded_bytes_ -= before->ByteSizeLong() + kFrame_bytes;
    rights_of_.erase(object_key(*before));
  }
  encoded_bytes_ += rights.ByteSizeLong() + kFrame_bytes;
  rights_of_.put(object_key(rights), id);
  rights_.put(id, std::move(rights));
  note_change(Kind::rights, id);
}

void Catalog::erase_rights(std::uint32_t id) {
  const control::ObjectRights& rights = rights_.at(id);
  encoded_bytes_ -= rights.ByteSizeLong() + kFrame_bytes;
  rights_of_.erase(object_key(rights));
  rights_.erase(id);
  note_drop(Kind::rights, id);
}

// --- GET_CATALOG ---

void Catalog::describe(const control::GetCatalogRequest& request, control::GetCatalogReply& reply) const {
  reply.set_version(version_);
  reply.set_roles_version(roles_version_);
  if (request.known_version() == version_) {
    reply.set_unchanged(true);
    return;
  }
  if (request.part() == control::CATALOG_TABLE) return describe_table(request.table(), reply);
  if (request.part() == control::CATALOG_IDS) return describe_ids(reply);
  if (request.part() != control::CATALOG_CHANGES) return;
  std::uint64_t position = request.position();
  std::uint64_t listing = request.listing();
  // Entries that were dropped before the listing began were never told.
  const bool goes_on = position != 0 && position <= position_ && listing <= position_ &&
                       std::max(position, listing) >= forgotten_;
  if (!goes_on) {
    position = 0;
    listing = position_;
  }
  reply.set_difference(goes_on);
  reply.set_listing(listing);
  std::size_t bytes = 0;
  auto change = changes_.upper_bound(position);
  for (; change != changes_.end() && describe(change->second, reply, &bytes); ++change)
    position = change->first;
  const bool more = change != changes_.end();
  reply.set_more(more);
  reply.set_position(more ? position : position_);
}

bool Catalog::describe(const Change& change, control::GetCatalogReply& reply, std::size_t* bytes) const {
  const auto fits = [bytes](std::size_t entry_bytes) {
    if (*bytes != 0 && *bytes + entry_bytes > kMaxReply_bytes) return false;
    *bytes += entry_bytes;
    return true;
  };
  const auto add = [&](const auto* entry, auto add_entry) {
    if (entry == nullptr) {
      if (!fits(kId_bytes)) return false;
      reply.add_dropped(change.id);
      return true;
    }
    if (!fits(sent_bytes(*entry))) return false;
    *add_entry() = *entry;
    return true;
  };
  switch (change.kind) {
    case Kind::table:
      return add(find_table(change.id), [&reply] { return reply.add_tables(); });
    case Kind::index:
      return add(find_index(change.id), [&reply] { return reply.add_indexes(); });
    case Kind::routine: {
      const std::string* const name = names_.get(change.id);
      const control::RoutineDescriptor* const routine = name == nullptr ? nullptr : routines_.get(*name);
      return add(routine, [&reply] { return reply.add_routines(); });
    }
    case Kind::role: {
      const auto role = roles_.find(change.id);
      return add(role == roles_.end() ? nullptr : &role->second, [&reply] { return reply.add_roles(); });
    }
    case Kind::rights:
      return add(rights_.get(change.id), [&reply] { return reply.add_rights(); });
  }
  return true;
}

void Catalog::describe_table(std::uint32_t id, control::GetCatalogReply& reply) const {
  const control::TableDescriptor* const table = find_table(id);
  if (table == nullptr) return;
  *reply.add_tables() = *table;
  for (const std::uint32_t index : indexes_of(id)) {
    if (const control::TableDescriptor* const entries = find_table(index)) {
      *reply.add_tables() = *entries;
    } else {
      *reply.add_indexes() = *find_index(index);
    }
  }
}

void Catalog::describe_ids(control::GetCatalogReply& reply) const {
  for (const auto& [name, table] : tables_) reply.add_ids(table.id());
  for (const auto& [name, index] : indexes_) reply.add_ids(index.id());
  for (const auto& [id, index] : indexes_beside_) reply.add_ids(id);
  for (const std::uint32_t id : creating()) reply.add_creating(id);
}

// --- the log ---

namespace {

bool equal_descriptors(const google::protobuf::MessageLite& left,
                       const google::protobuf::MessageLite& right) {
  return left.SerializeAsString() == right.SerializeAsString();
}

// The difference between the entry `now`, null if it is gone, and the state's, which are sorted by their ids.
template <typename Descriptor>
void describe_difference(const google::protobuf::RepeatedPtrField<Descriptor>& state, std::uint32_t id,
                         const Descriptor* now, google::protobuf::RepeatedPtrField<Descriptor>& changed,
                         google::protobuf::RepeatedField<std::uint32_t>& dropped) {
  const auto found =
      std::lower_bound(state.begin(), state.end(), id,
                       [](const Descriptor& other, std::uint32_t key) { return other.id() < key; });
  const bool was_there = found != state.end() && found->id() == id;
  if (now == nullptr && was_there) dropped.Add(id);
  if (now != nullptr && (!was_there || !equal_descriptors(*found, *now))) *changed.Add() = *now;
}

}  // namespace

void Catalog::describe_changes(const control::ControlState& state, std::uint64_t position,
                               control::ControlEntry& entry) const {
  std::map<std::uint32_t, Kind> sorted;  // an entry's lists ascend
  for (auto change = changes_.upper_bound(position); change != changes_.end(); ++change)
    sorted.emplace(change->second.id, change->second.kind);
  for (const auto& [id, kind] : sorted) {
    switch (kind) {
      case Kind::table:
        describe_difference(state.tables(), id, find_table(id), *entry.mutable_tables(),
                            *entry.mutable_dropped_tables());
        break;
      case Kind::index:
        describe_difference(state.indexes(), id, find_index(id), *entry.mutable_indexes(),
                            *entry.mutable_dropped_indexes());
        break;
      case Kind::routine: {
        const std::string* const name = names_.get(id);
        describe_difference(state.routines(), id, name == nullptr ? nullptr : routines_.get(*name),
                            *entry.mutable_routines(), *entry.mutable_dropped_routines());
        break;
      }
      case Kind::role: {
        const auto role = roles_.find(id);
        describe_difference(state.roles(), id, role == roles_.end() ? nullptr : &role->second,
                            *entry.mutable_roles(), *entry.mutable_dropped_roles());
        break;
      }
      case Kind::rights:
        describe_difference(state.rights(), id, rights_.get(id), *entry.mutable_rights(),
                            *entry.mutable_dropped_rights());
        break;
    }
  }
  if (version_ != state.catalog_version()) entry.set_catalog_version(version_);
}

}  // namespace namdb::memory
