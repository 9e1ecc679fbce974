#include "compute/sql/session/role_actor.h"

namespace namdb::sql {

std::uint32_t role_of_user(const storage::Roles& roles, const std::string& user) {
  const storage::Role* const found = roles.find(user);
  return found == nullptr ? storage::kUnknownRole : found->id;
}

Status no_such_role(std::string_view name) {
  return Status(ErrorCode::undefined_object, "role \"" + std::string(name) + "\" does not exist");
}

RoleActor::RoleActor(const SessionFacts& session_facts, const storage::Roles& known)
    : facts(session_facts),
      roles(known),
      current(role_of_user(known, session_facts.user)),
      session(role_of_user(known, session_facts.session_user)) {}

bool RoleActor::may_create_roles() const {
  if (is_superuser()) return true;
  const storage::Role* const role = roles.find(current);
  return role != nullptr && role->create_role;
}

Result<std::uint32_t> RoleActor::find(std::string_view name) const {
  const storage::Role* const found = roles.find(name);
  if (found == nullptr) return no_such_role(name);
  return found->id;
}

Result<std::uint32_t> RoleActor::find(const RoleName& name) const {
  switch (name.kind) {
    case RoleName::Kind::everybody:
      return storage::kNoRole;
    case RoleName::Kind::current:
      return find(facts.user);
    case RoleName::Kind::session:
      return find(facts.session_user);
    case RoleName::Kind::named:
      break;
  }
  return find(name.name);
}

std::string RoleActor::name_of(std::uint32_t role) const {
  const storage::Role* const found = roles.find(role);
  return found == nullptr ? std::string() : found->name;
}

}  // namespace namdb::sql
