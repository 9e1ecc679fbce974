#include "compute/cluster/role_descriptors.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/control.pb.h"

namespace namdb::txn {
namespace {

using storage::ObjectKind;
using storage::ObjectRights;
using storage::Role;

Status unsound_entry(const std::string& what) {
  return Status(ErrorCode::corrupt_data, "the catalog's entry of " + what + " makes no sense");
}

Role role_from(const control::RoleDescriptor& descriptor) {
  Role role;
  role.id = descriptor.id();
  role.name = descriptor.name();
  role.superuser = descriptor.superuser();
  role.login = descriptor.login();
  role.inherit = descriptor.inherit();
  role.create_role = descriptor.create_role();
  role.create_database = descriptor.create_database();
  role.replication = descriptor.replication();
  role.bypass_row_security = descriptor.bypass_row_security();
  if (descriptor.has_connection_limit()) role.connection_limit = descriptor.connection_limit();
  if (descriptor.has_valid_until_us()) role.valid_until_us = descriptor.valid_until_us();
  role.password = descriptor.password();
  for (const control::RoleMembership& membership : descriptor.member_of())
    role.member_of.push_back({membership.role(), membership.admin_option(), membership.grantor()});
  return role;
}

ObjectRights rights_from(const control::ObjectRights& descriptor) {
  ObjectRights rights;
  rights.id = descriptor.id();
  rights.object.kind = static_cast<ObjectKind>(descriptor.kind());
  rights.object.table = descriptor.table();
  rights.object.name = descriptor.name();
  rights.owner = descriptor.owner();
  if (!descriptor.has_grants()) return rights;
  rights.grants.emplace();
  for (const control::Grant& grant : descriptor.grants())
    rights.grants->push_back({grant.grantee(), grant.grantor(), grant.privileges(), grant.grant_options()});
  return rights;
}

}  // namespace

Status add_role(const control::RoleDescriptor& descriptor, RoleEntries* entries) {
  if (descriptor.id() == 0 || descriptor.name().empty())
    return unsound_entry("role \"" + descriptor.name() + "\"");
  entries->roles[descriptor.id()] = role_from(descriptor);
  return {};
}

Status add_rights(const control::ObjectRights& descriptor, RoleEntries* entries) {
  const bool is_known =
      descriptor.kind() >= control::OBJECT_TABLE && descriptor.kind() <= control::OBJECT_VIEW;
  if (!is_known) return unsound_entry("rights " + std::to_string(descriptor.id()));
  entries->rights[descriptor.id()] = rights_from(descriptor);
  return {};
}

Result<storage::RolesRef> roles_of(const RoleEntries& entries, std::uint64_t version) {
  std::vector<Role> roles;
  std::set<std::string> names;
  for (const auto& [id, role] : entries.roles) {
    if (!names.insert(role.name).second) return unsound_entry("role \"" + role.name + "\"");
    roles.push_back(role);
  }
  std::vector<ObjectRights> rights;
  rights.reserve(entries.rights.size());
  std::set<storage::SecuredObject> objects;
  for (const auto& [id, entry] : entries.rights) {
    if (entries.roles.contains(id) || !objects.insert(entry.object).second)
      return unsound_entry("rights " + std::to_string(id));
    rights.push_back(entry);
  }
  return std::make_shared<const storage::Roles>(std::move(roles), std::move(rights), version);
}

void describe_role(const Role& role, control::RoleDescriptor* descriptor) {
  descriptor->set_id(role.id);
  descriptor->set_name(role.name);
  descriptor->set_superuser(role.superuser);
  descriptor->set_login(role.login);
  descriptor->set_inherit(role.inherit);
  descriptor->set_create_role(role.create_role);
  descriptor->set_create_database(role.create_database);
  descriptor->set_replication(role.replication);
  descriptor->set_bypass_row_security(role.bypass_row_security);
  if (role.connection_limit != Role::kNoLimit) descriptor->set_connection_limit(role.connection_limit);
  if (role.valid_until_us) descriptor->set_valid_until_us(*role.valid_until_us);
  descriptor->set_password(role.password);
  for (const storage::RoleMembership& membership : role.member_of) {
    control::RoleMembership& added = *descriptor->add_member_of();
    added.set_role(membership.role);
    added.set_admin_option(membership.admin_option);
    added.set_grantor(membership.grantor);
  }
}

void describe_rights(const ObjectRights& rights, control::ObjectRights* descriptor) {
  descriptor->set_id(rights.id);
  descriptor->set_kind(static_cast<control::ObjectKind>(rights.object.kind));
  descriptor->set_table(rights.object.table);
  descriptor->set_name(rights.object.name);
  descriptor->set_owner(rights.owner);
  descriptor->set_has_grants(rights.grants.has_value());
  if (!rights.grants) return;
  for (const storage::Grant& grant : *rights.grants) {
    control::Grant& added = *descriptor->add_grants();
    added.set_grantee(grant.grantee);
    added.set_grantor(grant.grantor);
    added.set_privileges(grant.privileges);
    added.set_grant_options(grant.grant_options);
  }
}

}  // namespace namdb::txn
