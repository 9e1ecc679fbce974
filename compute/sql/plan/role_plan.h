// The plans of statements about roles and privileges. All names are looked up when they run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compute/api/role.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

// A right that a statement needs of its user: all of the privileges, or one of them.
struct RequiredRight {
  storage::SecuredObject object;
  storage::Privileges privileges = 0;
  bool one_is_enough = false;
  std::string name;            // of the object, for people
  std::string_view kind = "";  // the same: "table"
  // The view whose owner needs it, in the place of the user; empty: there is none.
  std::string through_view = {};
};

// A role as a statement names it.
struct RoleName {
  enum class Kind : std::uint8_t { named, everybody, current, session };
  Kind kind = Kind::named;
  std::string name;
};

// Options that are not given stay as they are, or are as for any new role.
struct RoleOptions {
  std::optional<bool> superuser;
  std::optional<bool> login;
  std::optional<bool> inherit;
  std::optional<bool> create_role;
  std::optional<bool> create_database;
  std::optional<bool> replication;
  std::optional<bool> bypass_row_security;
  std::optional<std::int32_t> connection_limit;
  std::optional<std::string> valid_until;
  bool has_password = false;
  std::optional<std::string> password;  // none: NULL

  // Whether it changes an attribute other than the password.
  bool changes_attributes() const {
    return superuser || login || inherit || create_role || create_database || replication ||
           bypass_row_security || connection_limit || valid_until;
  }
};

struct CreateRolePlan {
  std::string name;
  RoleOptions options;
  std::vector<RoleName> member_of;
  std::vector<RoleName> members;
  std::vector<RoleName> admins;
};

// ALTER ROLE, and ALTER GROUP ... ADD USER and DROP USER.
struct AlterRolePlan {
  RoleName role;
  RoleOptions options;
  bool of_members = false;
  bool adds_members = false;
  std::vector<RoleName> members;
};

struct RenameRolePlan {
  std::string name;
  std::string other;
};

struct DropRolePlan {
  std::vector<RoleName> roles;
  bool if_exists = false;
};

// GRANT and REVOKE of roles.
struct GrantRolePlan {
  bool is_grant = true;
  bool admin_option = false;
  std::vector<std::string> roles;
  std::vector<RoleName> members;
  std::optional<RoleName> grantor;
};

// The objects that a statement about privileges or owners names.
struct NamedObjects {
  storage::ObjectKind kind = storage::ObjectKind::table;
  std::string_view word;  // of the kind: "table", "procedure"
  bool all_in_schema = false;
  struct Object {
    std::string name;
    std::optional<std::vector<TypeId>> types;  // of a routine's parameters
  };
  std::vector<Object> objects;
};

// GRANT and REVOKE of privileges.
struct GrantPlan {
  bool is_grant = true;
  bool grant_option = false;  // WITH GRANT OPTION, GRANT OPTION FOR
  bool cascades = false;
  NamedObjects on;
  bool all_privileges = false;
  storage::Privileges privileges = 0;
  std::vector<RoleName> grantees;
  std::optional<RoleName> grantor;
};

struct ChangeOwnerPlan {
  NamedObjects of;
  RoleName owner;
  bool if_exists = false;
};

struct ReassignOwnedPlan {
  std::vector<RoleName> roles;
  RoleName other;
};
struct DropOwnedPlan {
  std::vector<RoleName> roles;
};

struct RolePlan {
  std::variant<CreateRolePlan, AlterRolePlan, RenameRolePlan, DropRolePlan, GrantRolePlan, GrantPlan,
               ChangeOwnerPlan, ReassignOwnedPlan, DropOwnedPlan>
      command;

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&command);
  }
};

}  // namespace namdb::sql
