#include "compute/api/role.h"

#include <algorithm>
#include <set>
#include <utility>

namespace namdb::storage {

Privileges all_privileges(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::table:
    case ObjectKind::view:
      return kInsertPrivilege | kSelectPrivilege | kUpdatePrivilege | kDeletePrivilege | kTruncatePrivilege |
             kReferencesPrivilege | kTriggerPrivilege;
    case ObjectKind::sequence:
      return kSelectPrivilege | kUpdatePrivilege | kUsagePrivilege;
    case ObjectKind::routine:
      return kExecutePrivilege;
    case ObjectKind::schema:
      return kUsagePrivilege | kCreatePrivilege;
  }
  return 0;
}

std::vector<Grant> default_grants(ObjectKind kind, std::uint32_t owner) {
  std::vector<Grant> grants;
  if (kind == ObjectKind::routine) grants.push_back({kNoRole, owner, kExecutePrivilege, 0});
  if (kind == ObjectKind::schema) grants.push_back({kNoRole, owner, kUsagePrivilege, 0});
  if (owner != kNoRole) grants.push_back({owner, owner, all_privileges(kind), 0});
  return grants;
}

Roles::Roles(std::vector<Role> roles, std::vector<ObjectRights> rights, std::uint64_t version)
    : roles_(std::move(roles)), rights_(std::move(rights)), version_(version) {
  std::ranges::sort(roles_, {}, &Role::id);
  std::ranges::sort(rights_, {}, &ObjectRights::id);
  for (std::size_t i = 0; i < roles_.size(); ++i) by_name_.emplace(roles_[i].name, i);
  for (std::size_t i = 0; i < rights_.size(); ++i) by_object_.emplace(rights_[i].object, i);
}

const Role* Roles::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &roles_[found->second];
}

const Role* Roles::find(std::uint32_t id) const {
  const auto found = std::ranges::lower_bound(roles_, id, {}, &Role::id);
  return found == roles_.end() || found->id != id ? nullptr : &*found;
}

const ObjectRights* Roles::rights_of(const SecuredObject& object) const {
  const auto found = by_object_.find(object);
  return found == by_object_.end() ? nullptr : &rights_[found->second];
}

std::uint32_t Roles::owner_of(const SecuredObject& object) const {
  const ObjectRights* const rights = rights_of(object);
  return rights == nullptr ? kNoRole : rights->owner;
}

std::vector<Grant> Roles::grants_of(const SecuredObject& object) const {
  const ObjectRights* const rights = rights_of(object);
  if (rights != nullptr && rights->grants) return *rights->grants;
  return default_grants(object.kind, rights == nullptr ? kNoRole : rights->owner);
}

bool Roles::is_superuser(std::uint32_t role) const {
  if (roles_.empty()) return true;
  const Role* const found = find(role);
  return found != nullptr && found->superuser;
}

bool Roles::reaches(std::uint32_t member, std::uint32_t role, Reach reach) const {
  if (member == role) return true;
  std::set<std::uint32_t> seen = {member};
  std::vector<std::uint32_t> next = {member};
  while (!next.empty()) {
    const Role* const found = find(next.back());
    next.pop_back();
    if (found == nullptr || (reach == Reach::inheritance && !found->inherit)) continue;
    for (const RoleMembership& membership : found->member_of) {
      if (membership.role == role) return true;
      if (seen.insert(membership.role).second) next.push_back(membership.role);
    }
  }
  return false;
}

bool Roles::is_member(std::uint32_t member, std::uint32_t role) const {
  return is_superuser(member) || is_named_member(member, role);
}

bool Roles::is_named_member(std::uint32_t member, std::uint32_t role) const {
  return reaches(member, role, Reach::members);
}

bool Roles::inherits(std::uint32_t member, std::uint32_t role) const {
  return is_superuser(member) || reaches(member, role, Reach::inheritance);
}

bool Roles::has_admin_option(std::uint32_t member, std::uint32_t role) const {
  return std::ranges::any_of(roles_, [&](const Role& holder) {
    const bool may = std::ranges::any_of(holder.member_of, [role](const RoleMembership& membership) {
      return membership.role == role && membership.admin_option;
    });
    return may && is_named_member(member, holder.id);
  });
}

Privileges Roles::privileges(std::uint32_t role, const SecuredObject& object) const {
  if (is_superuser(role)) return all_privileges(object.kind);
  Privileges all = 0;
  for (const Grant& grant : grants_of(object)) {
    if (grant.grantee == kNoRole || reaches(role, grant.grantee, Reach::inheritance)) all |= grant.privileges;
  }
  return all;
}

Privileges Roles::grant_options(std::uint32_t role, const SecuredObject& object) const {
  const std::uint32_t owner = owner_of(object);
  if (is_superuser(role) || (owner != kNoRole && inherits(role, owner))) return all_privileges(object.kind);
  Privileges all = 0;
  for (const Grant& grant : grants_of(object)) {
    if (grant.grantee != kNoRole && reaches(role, grant.grantee, Reach::inheritance))
      all |= grant.grant_options;
  }
  return all;
}

}  // namespace namdb::storage
