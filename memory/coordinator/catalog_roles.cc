// The catalog's part about roles, and about the rights of objects. Compute servers decide on the changes.
// Here names are unique, and all that is named is there.
#include <algorithm>
#include <utility>
#include <vector>

#include "memory/coordinator/catalog.h"

namespace namdb::memory {
namespace {

Status unnamed_object() {
  return Status(ErrorCode::protocol_violation, "an entry of rights names no object");
}

Status missing_role(std::uint32_t id) {
  return Status(ErrorCode::undefined_object, "there is no role " + std::to_string(id));
}

}  // namespace

control::ObjectRights Catalog::rights_of_table(std::uint32_t table) {
  control::ObjectRights rights;
  rights.set_kind(control::OBJECT_TABLE);
  rights.set_table(table);
  return rights;
}

control::ObjectRights Catalog::rights_of_routine(const std::string& name) {
  control::ObjectRights rights;
  const bool is_view = name.starts_with(kViewMark);
  rights.set_kind(is_view ? control::OBJECT_VIEW : control::OBJECT_ROUTINE);
  rights.set_name(is_view ? name.substr(1) : name);
  return rights;
}

std::string Catalog::object_key(const control::ObjectRights& rights) {
  return std::to_string(rights.kind()) + " " + std::to_string(rights.table()) + " " + rights.name();
}

const control::ObjectRights* Catalog::find_rights(const control::ObjectRights& rights) const {
  const std::uint32_t* const id = rights_of_.get(object_key(rights));
  return id == nullptr ? nullptr : rights_.get(*id);
}

void Catalog::own(control::ObjectRights rights, std::uint32_t owner) {
  // It is new: an entry that is there belongs to another one that had its name.
  disown(rights);
  // A role that was dropped meanwhile leaves the object to the superusers.
  if (owner == 0 || !roles_.contains(owner)) return;
  rights.set_owner(owner);
  rights.set_id(next_id_++);
  put_rights(std::move(rights));
  roles_version_ = version_ + 1;
}

void Catalog::disown(const control::ObjectRights& object) {
  const control::ObjectRights* const entry = find_rights(object);
  if (entry == nullptr) return;
  erase_rights(entry->id());
  roles_version_ = version_ + 1;
}

void Catalog::move_rights(std::uint32_t from_table, std::uint32_t to_table) {
  const control::ObjectRights* const entry = find_rights(rights_of_table(from_table));
  if (entry == nullptr) return;
  control::ObjectRights moved = *entry;
  moved.set_table(to_table);
  put_rights(std::move(moved));
  roles_version_ = version_ + 1;
}

Result<std::uint64_t> Catalog::change_roles(const control::ChangeRolesRequest& request) {
  if (request.roles_version() != roles_version_)
    return Status(ErrorCode::catalog_changed, "roles or privileges were changed meanwhile");
  // A change that fails half-way is tried in a copy: without a log there is no draft.
  Catalog changed_catalog = draft();
  std::vector<std::uint32_t> ids;
  const auto real_id = [&ids](std::uint32_t id) {
    return id >= kNewRole && id - kNewRole < ids.size() ? ids[id - kNewRole] : id;
  };
  for (const control::RoleDescriptor& role : request.roles()) {
    if (Status status = changed_catalog.change_role(role, &ids.emplace_back()); !status.ok()) return status;
  }
  for (const std::uint32_t id : ids) {
    control::RoleDescriptor role = changed_catalog.roles_.at(id);
    for (control::RoleMembership& membership : *role.mutable_member_of()) {
      membership.set_role(real_id(membership.role()));
      membership.set_grantor(real_id(membership.grantor()));
    }
    if (Status status = changed_catalog.change_role(std::move(role), nullptr); !status.ok()) return status;
  }
  for (control::ObjectRights rights : request.rights()) {
    rights.set_owner(real_id(rights.owner()));
    for (control::Grant& grant : *rights.mutable_grants()) {
      grant.set_grantee(real_id(grant.grantee()));
      grant.set_grantor(real_id(grant.grantor()));
    }
    if (Status status = changed_catalog.change_rights(std::move(rights)); !status.ok()) return status;
  }
  for (const std::uint32_t id : request.dropped_rights()) {
    if (changed_catalog.rights_.contains(id)) changed_catalog.erase_rights(id);
  }
  for (const std::uint32_t id : request.dropped_roles()) {
    if (Status status = changed_catalog.drop_role(id); !status.ok()) return status;
  }
  for (const auto& [id, role] : changed_catalog.roles_) {
    if (Status status = changed_catalog.check_named_roles(role); !status.ok()) return status;
  }
  // Where no role goes, those that were sound are.
  for (const control::ObjectRights& rights : request.rights()) {
    const control::ObjectRights* const entry = changed_catalog.find_rights(rights);
    if (entry == nullptr) continue;
    if (Status status = changed_catalog.check_named_roles(*entry); !status.ok()) return status;
  }
  if (request.dropped_roles_size() != 0) {
    for (const auto& [id, rights] : changed_catalog.rights_) {
      if (Status status = changed_catalog.check_named_roles(rights); !status.ok()) return status;
    }
  }
  Status room = changed_catalog.check_room(0, 0, "drop roles or tables that are not needed");
  if (!room.ok()) return room;
  adopt(std::move(changed_catalog));
  roles_version_ = version_ + 1;
  changed();
  return version_;
}

Status Catalog::change_role(control::RoleDescriptor role, std::uint32_t* id) {
  if (role.name().empty() || role.name().size() > kMaxRoleName_bytes)
    return Status(ErrorCode::invalid_name, "a role's name has 1 to 63 bytes");
  if (role.id() != 0 && !roles_.contains(role.id())) return missing_role(role.id());
  for (const auto& [other_id, other] : roles_) {
    if (other.name() == role.name() && other_id != role.id())
      return Status(ErrorCode::duplicate_object, "role \"" + role.name() + "\" already exists");
  }
  if (role.id() == 0) role.set_id(next_id_++);
  if (id != nullptr) *id = role.id();
  put_role(std::move(role));
  return Status();
}

Status Catalog::change_rights(control::ObjectRights rights) {
  const bool is_table = rights.kind() == control::OBJECT_TABLE;
  const bool is_named = rights.kind() == control::OBJECT_SEQUENCE ||
                        rights.kind() == control::OBJECT_ROUTINE || rights.kind() == control::OBJECT_SCHEMA ||
                        rights.kind() == control::OBJECT_VIEW;
  if ((!is_table && !is_named) || is_table != (rights.table() != 0) || is_named == rights.name().empty() ||
      rights.name().size() > kMaxName_bytes)
    return unnamed_object();
  if (is_table && find_table(rights.table()) == nullptr)
    return Status(ErrorCode::undefined_table, "there is no table " + std::to_string(rights.table()));
  if (rights.kind() == control::OBJECT_VIEW && !routines_.contains(view_key(rights.name())))
    return Status(ErrorCode::undefined_table, "there is no view \"" + rights.name() + "\"");
  const control::ObjectRights* const old = find_rights(rights);
  rights.set_id(old == nullptr ? next_id_++ : old->id());
  Status room =
      check_room(rights.ByteSizeLong() + kFrame_bytes, 0, "drop roles or tables that are not needed");
  if (!room.ok()) return room;
  put_rights(std::move(rights));
  return Status();
}

Status Catalog::drop_role(std::uint32_t id) {
  if (!roles_.contains(id)) return missing_role(id);
  erase_role(id);
  return Status();
}

Status Catalog::check_named_roles(const control::RoleDescriptor& role) const {
  for (const control::RoleMembership& membership : role.member_of()) {
    if (membership.role() == 0 || !role_is_there(membership.role())) return missing_role(membership.role());
    if (!role_is_there(membership.grantor())) return missing_role(membership.grantor());
  }
  return Status();
}

Status Catalog::check_named_roles(const control::ObjectRights& rights) const {
  if (!role_is_there(rights.owner())) return missing_role(rights.owner());
  for (const control::Grant& grant : rights.grants()) {
    if (!role_is_there(grant.grantee())) return missing_role(grant.grantee());
    if (!role_is_there(grant.grantor())) return missing_role(grant.grantor());
  }
  return Status();
}

}  // namespace namdb::memory
