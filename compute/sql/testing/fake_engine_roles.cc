// The fake engine's part about roles.
#include <algorithm>
#include <utility>

#include "compute/sql/testing/fake_engine.h"

namespace namdb::sql::testing {

using reactor::Task;
using storage::ObjectRights;
using storage::Role;

void FakeEngine::set_roles(std::vector<Role> roles, std::vector<ObjectRights> rights) {
  ++catalog_version_;
  roles_ = std::make_shared<const storage::Roles>(std::move(roles), std::move(rights), catalog_version_);
}

void FakeEngine::disown(const storage::SecuredObject& object) {
  if (roles_->rights_of(object) == nullptr) return;
  std::vector<ObjectRights> rights = roles_->rights();
  std::erase_if(rights, [&](const ObjectRights& other) { return other.object == object; });
  set_roles(roles_->all(), std::move(rights));
}

void FakeEngine::own(storage::SecuredObject object, std::uint32_t owner) {
  disown(object);
  if (owner == storage::kNoRole || roles_->find(owner) == nullptr) return;
  std::vector<ObjectRights> rights = roles_->rights();
  rights.push_back({next_table_++, std::move(object), owner, std::nullopt});
  set_roles(roles_->all(), std::move(rights));
}

Task<Status> FakeEngine::change_roles(txn::RoleChange change) {
  if (change.version != roles_->version())
    co_return Status(ErrorCode::catalog_changed, "roles or privileges were changed meanwhile");
  std::vector<Role> roles = roles_->all();
  std::vector<ObjectRights> all_rights = roles_->rights();
  std::vector<std::uint32_t> ids;
  for (const Role& role : change.roles) ids.push_back(role.id == 0 ? next_table_++ : role.id);
  const auto resolve = [&ids](std::uint32_t& id) {
    if (id >= storage::kNewRole && id - storage::kNewRole < ids.size()) id = ids[id - storage::kNewRole];
  };
  for (std::size_t i = 0; i < change.roles.size(); ++i) {
    Role role = change.roles[i];
    role.id = ids[i];
    for (storage::RoleMembership& membership : role.member_of) {
      resolve(membership.role);
      resolve(membership.grantor);
    }
    std::erase_if(roles, [&](const Role& other) { return other.id == role.id; });
    if (std::ranges::any_of(roles, [&](const Role& other) { return other.name == role.name; }))
      co_return Status(ErrorCode::duplicate_object, "role \"" + role.name + "\" already exists");
    roles.push_back(std::move(role));
  }
  for (ObjectRights rights : change.rights) {
    resolve(rights.owner);
    if (rights.grants) {
      for (storage::Grant& grant : *rights.grants) {
        resolve(grant.grantee);
        resolve(grant.grantor);
      }
    }
    std::erase_if(all_rights, [&](const ObjectRights& other) { return other.object == rights.object; });
    rights.id = next_table_++;
    all_rights.push_back(std::move(rights));
  }
  const auto dropped = [](const std::vector<std::uint32_t>& list) {
    return [&list](const auto& entry) { return std::ranges::find(list, entry.id) != list.end(); };
  };
  std::erase_if(roles, dropped(change.dropped_roles));
  std::erase_if(all_rights, dropped(change.dropped_rights));
  set_roles(std::move(roles), std::move(all_rights));
  co_return Status();
}

}  // namespace namdb::sql::testing
