// The catalog as a part of the control state (control_state.h), and its drafts.
#include <map>
#include <string>
#include <utility>

#include "memory/coordinator/catalog.h"

namespace namdb::memory {
namespace {

template <typename Descriptor>
using ById = std::map<std::uint32_t, const Descriptor*>;

bool equal_descriptors(const google::protobuf::MessageLite& left,
                       const google::protobuf::MessageLite& right) {
  return left.SerializeAsString() == right.SerializeAsString();
}

// Adds to `changed` what `now` has and `before` has not, or has otherwise; to `dropped` what is gone.
template <typename Descriptor>
void describe_difference(const google::protobuf::RepeatedPtrField<Descriptor>& before,
                         const ById<Descriptor>& now, google::protobuf::RepeatedPtrField<Descriptor>& changed,
                         google::protobuf::RepeatedField<std::uint32_t>& dropped) {
  ById<Descriptor> old;
  for (const Descriptor& descriptor : before) {
    old[descriptor.id()] = &descriptor;
    if (!now.contains(descriptor.id())) dropped.Add(descriptor.id());
  }
  for (const auto& [id, descriptor] : now) {
    const auto found = old.find(id);
    if (found == old.end() || !equal_descriptors(*found->second, *descriptor)) *changed.Add() = *descriptor;
  }
}

}  // namespace

Catalog Catalog::draft() const {
  Catalog copy(*this);
  copy.draft_ = true;
  return copy;
}

void Catalog::adopt(Catalog&& draft) {
  version_ = draft.version_;
  next_id_ = draft.next_id_;
  encoded_bytes_ = draft.encoded_bytes_;
  tables_ = std::move(draft.tables_);
  creations_ = std::move(draft.creations_);
  indexes_ = std::move(draft.indexes_);
  indexes_beside_ = std::move(draft.indexes_beside_);
  index_creations_ = std::move(draft.index_creations_);
  hash_builders_ = std::move(draft.hash_builders_);
  copiers_ = std::move(draft.copiers_);
  routines_ = std::move(draft.routines_);
  roles_ = std::move(draft.roles_);
  rights_ = std::move(draft.rights_);
  roles_version_ = draft.roles_version_;
  show_version();
}

void Catalog::import_state(const control::ControlState& state) {
  constexpr fabric::PeerId kNobody = 0;
  Catalog imported = draft();
  imported.tables_.clear();
  imported.creations_.clear();
  imported.indexes_.clear();
  imported.indexes_beside_.clear();
  imported.index_creations_.clear();
  imported.hash_builders_.clear();
  imported.copiers_.clear();
  imported.routines_.clear();
  imported.roles_.clear();
  imported.rights_.clear();
  imported.version_ = state.catalog_version();
  imported.next_id_ = state.marks().next_table();
  imported.encoded_bytes_ = 0;
  for (const control::TableDescriptor& table : state.tables()) {
    imported.encoded_bytes_ += encoded_bytes(table);
    if (table.hash_index().state() == control::INDEX_BUILDING) imported.hash_builders_[table.id()] = kNobody;
    if (table.replaces() != 0) imported.copiers_[table.id()] = kNobody;
    imported.tables_[table.name()] = table;
  }
  for (const control::IndexDescriptor& index : state.indexes()) {
    imported.encoded_bytes_ += index.ByteSizeLong() + kFrame_bytes;
    const bool beside = index.replaces() != 0 || index.replaced_version() != 0;
    if (index.state() == control::INDEX_BUILDING)
      imported.index_creations_[index.id()] = IndexCreation{kNobody, index};
    (beside ? imported.indexes_beside_[index.id()] : imported.indexes_[index.name()]) = index;
  }
  for (const control::RoutineDescriptor& routine : state.routines()) {
    imported.encoded_bytes_ += routine.ByteSizeLong() + kFrame_bytes;
    imported.routines_[routine.name()] = routine;
  }
  for (const control::RoleDescriptor& role : state.roles()) {
    imported.encoded_bytes_ += role.ByteSizeLong() + kFrame_bytes;
    imported.roles_[role.id()] = role;
  }
  for (const control::ObjectRights& rights : state.rights()) {
    imported.encoded_bytes_ += rights.ByteSizeLong() + kFrame_bytes;
    imported.rights_[rights.id()] = rights;
  }
  imported.roles_version_ = imported.version_;
  adopt(std::move(imported));
}

void Catalog::export_state(control::ControlState& state) const {
  state.set_catalog_version(version_);
  state.clear_tables();
  state.clear_indexes();
  state.clear_routines();
  state.clear_roles();
  state.clear_rights();
  ById<control::TableDescriptor> tables;
  for (const auto& [name, table] : tables_) tables[table.id()] = &table;
  for (const auto& [id, table] : tables) *state.add_tables() = *table;
  ById<control::IndexDescriptor> indexes;
  for (const auto& [name, index] : indexes_) indexes[index.id()] = &index;
  for (const auto& [id, index] : indexes_beside_) indexes[id] = &index;
  for (const auto& [id, index] : indexes) *state.add_indexes() = *index;
  ById<control::RoutineDescriptor> routines;
  for (const auto& [name, routine] : routines_) routines[routine.id()] = &routine;
  for (const auto& [id, routine] : routines) *state.add_routines() = *routine;
  for (const auto& [id, role] : roles_) *state.add_roles() = role;
  for (const auto& [id, rights] : rights_) *state.add_rights() = rights;
}

void Catalog::describe_changes(const control::ControlState& state, control::ControlEntry& entry) const {
  ById<control::TableDescriptor> tables;
  for (const auto& [name, table] : tables_) tables[table.id()] = &table;
  ById<control::IndexDescriptor> indexes;
  for (const auto& [name, index] : indexes_) indexes[index.id()] = &index;
  for (const auto& [id, index] : indexes_beside_) indexes[id] = &index;
  ById<control::RoutineDescriptor> routines;
  for (const auto& [name, routine] : routines_) routines[routine.id()] = &routine;
  describe_difference(state.tables(), tables, *entry.mutable_tables(), *entry.mutable_dropped_tables());
  describe_difference(state.indexes(), indexes, *entry.mutable_indexes(), *entry.mutable_dropped_indexes());
  describe_difference(state.routines(), routines, *entry.mutable_routines(),
                      *entry.mutable_dropped_routines());
  ById<control::RoleDescriptor> roles;
  for (const auto& [id, role] : roles_) roles[id] = &role;
  ById<control::ObjectRights> all_rights;
  for (const auto& [id, rights] : rights_) all_rights[id] = &rights;
  describe_difference(state.roles(), roles, *entry.mutable_roles(), *entry.mutable_dropped_roles());
  describe_difference(state.rights(), all_rights, *entry.mutable_rights(), *entry.mutable_dropped_rights());
  if (version_ != state.catalog_version()) entry.set_catalog_version(version_);
}

}  // namespace namdb::memory
