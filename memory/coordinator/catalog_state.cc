// The catalog as a part of the control state (control_state.h), and its drafts.
#include <map>
#include <string>
#include <utility>

#include "memory/coordinator/catalog.h"

namespace namdb::memory {
namespace {

// The entries of a list of a state, by ascending ids.
template <typename Descriptor>
using Sorted = std::map<std::uint32_t, const Descriptor*>;

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
  names_ = std::move(draft.names_);
  table_indexes_ = std::move(draft.table_indexes_);
  references_ = std::move(draft.references_);
  rights_of_ = std::move(draft.rights_of_);
  position_ = draft.position_;
  forgotten_ = draft.forgotten_;
  changes_ = std::move(draft.changes_);
  positions_ = std::move(draft.positions_);
  drops_ = std::move(draft.drops_);
  if (!draft_) show_version();
}

void Catalog::import_state(const control::ControlState& state) {
  constexpr fabric::PeerId kNobody = 0;
  Catalog imported(region_, options_, true);
  imported.position_ = position_ + 1;
  imported.forgotten_ = imported.position_;
  imported.version_ = state.catalog_version();
  imported.next_id_ = state.marks().next_table();
  for (const control::TableDescriptor& table : state.tables()) {
    if (table.hash_index().state() == control::INDEX_BUILDING) imported.hash_builders_[table.id()] = kNobody;
    if (table.replaces() != 0) imported.copiers_[table.id()] = kNobody;
    imported.put_table(table);
  }
  for (const control::IndexDescriptor& index : state.indexes()) {
    if (index.state() == control::INDEX_BUILDING)
      imported.index_creations_[index.id()] = IndexCreation{kNobody, index};
    imported.put_index(index);
  }
  for (const control::RoutineDescriptor& routine : state.routines()) imported.put_routine(routine);
  for (const control::RoleDescriptor& role : state.roles()) imported.put_role(role);
  for (const control::ObjectRights& rights : state.rights()) imported.put_rights(rights);
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
  Sorted<control::TableDescriptor> tables;
  for (const auto& [name, table] : tables_) tables[table.id()] = &table;
  for (const auto& [id, table] : tables) *state.add_tables() = *table;
  Sorted<control::IndexDescriptor> indexes;
  for (const auto& [name, index] : indexes_) indexes[index.id()] = &index;
  for (const auto& [id, index] : indexes_beside_) indexes[id] = &index;
  for (const auto& [id, index] : indexes) *state.add_indexes() = *index;
  Sorted<control::RoutineDescriptor> routines;
  for (const auto& [name, routine] : routines_) routines[routine.id()] = &routine;
  for (const auto& [id, routine] : routines) *state.add_routines() = *routine;
  for (const auto& [id, role] : roles_) *state.add_roles() = role;
  for (const auto& [id, rights] : rights_) *state.add_rights() = rights;
}

}  // namespace namdb::memory
