// Roles and privileges as PostgreSQL's clients see them: identities (OIDs), and the texts of privileges.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/api/role.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

// The role that owns the schema public. It has a name for tools, and no members.
inline constexpr Oid kDatabaseOwnerOid = 6171;
inline constexpr std::string_view kDatabaseOwner = "pg_database_owner";

struct PrivilegeName {
  std::string_view name;  // "SELECT"
  char letter;            // of an aclitem
  storage::Privileges privilege;
};
// In the order of their letters in an aclitem.
std::span<const PrivilegeName> privilege_names();
// The privilege of that name, in any case; 0: there is none.
storage::Privileges privilege_of(std::string_view name);

// The owner that is shown of an object: a superuser's where there is none. kNoRole while there are no roles.
std::uint32_t shown_owner(const storage::Roles* roles, std::uint32_t owner);
// kOwnerOid while there are no roles: the session's user is all there is.
Oid role_oid(const storage::Roles* roles, std::uint32_t role);
Oid owner_oid(const storage::Roles* roles, std::uint32_t owner);
// Null: no role has that identity.
const storage::Role* find_role(const storage::Roles* roles, std::int64_t oid);
// The name of an owner or of the session's user, while there are no roles.
std::string role_name(const storage::Roles* roles, std::uint32_t owner, std::string_view user);

// The grants of a new object, as acldefault() has them; `kind`: its letter there. nullopt: there is no such.
std::optional<std::vector<std::string>> default_grant_texts(char kind, std::string_view owner);
// "alice=r*w/tester", of a grant for an object of that owner.
std::string grant_text(const storage::Grant& grant, std::uint32_t owner, const storage::Roles& roles);

}  // namespace namdb::sql
