// The user who changes roles and privileges, among the roles as they are now; and the messages for that user,
// which are sent once the change is made. It lives for one try of a change.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "compute/api/role.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/role_plan.h"

namespace namdb::sql {

struct RoleNotice {
  std::string_view severity;
  std::string_view sqlstate;
  std::string message;
};

struct RoleActor {
  RoleActor(const SessionFacts& session_facts, const storage::Roles& known);

  const SessionFacts& facts;
  const storage::Roles& roles;
  std::uint32_t current = storage::kUnknownRole;
  std::uint32_t session = storage::kUnknownRole;
  std::vector<RoleNotice> notices = {};
  std::string detail = {};  // of the error

  bool is_superuser() const { return roles.is_superuser(current); }
  bool may_create_roles() const;
  bool has_admin(std::uint32_t role) const { return roles.has_admin_option(current, role); }
  // The id of the role with that name; kNoRole for PUBLIC. Error undefined_object: there is no such role.
  Result<std::uint32_t> find(const RoleName& name) const;
  Result<std::uint32_t> find(std::string_view name) const;
  std::string name_of(std::uint32_t role) const;
  void notify(std::string_view severity, std::string_view sqlstate, std::string message) {
    notices.push_back({severity, sqlstate, std::move(message)});
  }
};

// The id that counts for a session whose user has that name.
std::uint32_t role_of_user(const storage::Roles& roles, const std::string& user);

inline Status role_denied(std::string message) {
  return Status(ErrorCode::insufficient_privilege, std::move(message));
}
Status no_such_role(std::string_view name);

}  // namespace namdb::sql
