// The catalog's part about roles, and about the rights of objects. Compute servers decide on the changes.
// Here names are unique, and all that is named is there.
#include <algorithm>
#include <utility>
#include <vector>

#include "memory/coordinator/catalog.h"

namespace namdb::memory {
namespace {

std::size_t framed_bytes(const google::protobuf::MessageLite& message, std::size_t frame_bytes) {
  return message.ByteSizeLong() + frame_bytes;
}

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

std::map<std::uint32_t, control::ObjectRights>::iterator Catalog::find_rights(
    const control::ObjectRights& rights) {
  return std::ranges::find_if(rights_, [&rights](const auto& entry) {
    const control::ObjectRights& other = entry.second;
    return other.kind() == rights.kind() && other.table() == rights.table() && other.name() == rights.name();
  });
}

void Catalog::erase_rights(std::map<std::uint32_t, control::ObjectRights>::iterator entry) {
  encoded_bytes_ -= framed_bytes(entry->second, kFrame_bytes);
  rights_.erase(entry);
}

void Catalog::own(control::ObjectRights rights, std::uint32_t owner) {
  // It is new: an entry that is there belongs to another one that had its name.
  disown(rights);
  // A role that was dropped meanwhile leaves the object to the superusers.
  if (owner == 0 || !roles_.contains(owner)) return;
  rights.set_owner(owner);
  rights.set_id(next_id_++);
  encoded_bytes_ += framed_bytes(rights, kFrame_bytes);
  rights_[rights.id()] = std::move(rights);
  roles_version_ = version_ + 1;
}

void Catalog::disown(const control::ObjectRights& object) {
  const auto entry = find_rights(object);
  if (entry == rights_.end()) return;
  erase_rights(entry);
  roles_version_ = version_ + 1;
}

void Catalog::move_rights(std::uint32_t from_table, std::uint32_t to_table) {
  const auto entry = find_rights(rights_of_table(from_table));
  if (entry == rights_.end()) return;
  encoded_bytes_ -= framed_bytes(entry->second, kFrame_bytes);
  entry->second.set_table(to_table);
  encoded_bytes_ += framed_bytes(entry->second, kFrame_bytes);
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
  Status status;
  for (const control::RoleDescriptor& role : request.roles()) {
    if (status.ok()) status = changed_catalog.put_role(role, &ids.emplace_back());
  }
  for (const std::uint32_t id : ids) {
    if (!status.ok()) break;
    control::RoleDescriptor role = changed_catalog.roles_.at(id);
    for (control::RoleMembership& membership : *role.mutable_member_of()) {
      membership.set_role(real_id(membership.role()));
      membership.set_grantor(real_id(membership.grantor()));
    }
    status = changed_catalog.put_role(std::move(role), nullptr);
  }
  for (control::ObjectRights rights : request.rights()) {
    if (!status.ok()) break;
    rights.set_owner(real_id(rights.owner()));
    for (control::Grant& grant : *rights.mutable_grants()) {
      grant.set_grantee(real_id(grant.grantee()));
      grant.set_grantor(real_id(grant.grantor()));
    }
    status = changed_catalog.put_rights(std::move(rights));
  }
  for (const std::uint32_t id : request.dropped_rights()) {
    const auto entry = changed_catalog.rights_.find(id);
    if (entry != changed_catalog.rights_.end()) changed_catalog.erase_rights(entry);
  }
  for (const std::uint32_t id : request.dropped_roles()) {
    if (status.ok()) status = changed_catalog.erase_role(id);
  }
  for (const auto& [id, role] : changed_catalog.roles_) {
    if (status.ok()) status = changed_catalog.check_named_roles(role);
  }
  for (const auto& [id, rights] : changed_catalog.rights_) {
    if (status.ok()) status = changed_catalog.check_named_roles(rights);
  }
  if (status.ok() && changed_catalog.encoded_bytes_ > kMaxCatalog_bytes)
    status =
        Status(ErrorCode::limit_exceeded, "the catalog is full", "drop roles or tables that are not needed");
  if (!status.ok()) return status;
  next_id_ = changed_catalog.next_id_;
  encoded_bytes_ = changed_catalog.encoded_bytes_;
  roles_ = std::move(changed_catalog.roles_);
  rights_ = std::move(changed_catalog.rights_);
  roles_version_ = version_ + 1;
  changed();
  return version_;
}

Status Catalog::put_role(control::RoleDescriptor role, std::uint32_t* id) {
  if (role.name().empty() || role.name().size() > kMaxRoleName_bytes)
    return Status(ErrorCode::invalid_name, "a role's name has 1 to 63 bytes");
  const bool is_new = role.id() == 0;
  const auto old = roles_.find(role.id());
  if (!is_new && old == roles_.end()) return missing_role(role.id());
  for (const auto& [other_id, other] : roles_) {
    if (other.name() == role.name() && other_id != role.id())
      return Status(ErrorCode::duplicate_object, "role \"" + role.name() + "\" already exists");
  }
  if (is_new) role.set_id(next_id_++);
  if (!is_new) encoded_bytes_ -= framed_bytes(old->second, kFrame_bytes);
  encoded_bytes_ += framed_bytes(role, kFrame_bytes);
  if (id != nullptr) *id = role.id();
  roles_[role.id()] = std::move(role);
  return Status();
}

Status Catalog::put_rights(control::ObjectRights rights) {
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
  const auto old = find_rights(rights);
  rights.set_id(old == rights_.end() ? next_id_++ : old->first);
  if (old != rights_.end()) erase_rights(old);
  encoded_bytes_ += framed_bytes(rights, kFrame_bytes);
  rights_[rights.id()] = std::move(rights);
  return Status();
}

Status Catalog::erase_role(std::uint32_t id) {
  const auto found = roles_.find(id);
  if (found == roles_.end()) return missing_role(id);
  encoded_bytes_ -= framed_bytes(found->second, kFrame_bytes);
  roles_.erase(found);
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
