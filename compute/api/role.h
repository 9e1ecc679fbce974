// Roles and the privileges of objects, as a compute server knows them: a worker's copy of a part of the
// catalog, shared by reference. It never changes; after a change of any of it there is another object.
//
// While there is no role at all, every user's name is taken, and every user counts as a superuser.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace namdb::storage {

// As a grantee: PUBLIC. As an owner: no role; the object belongs to the superusers.
inline constexpr std::uint32_t kNoRole = 0;
// A session's role that does not exist: it has only the rights of PUBLIC.
inline constexpr std::uint32_t kUnknownRole = 0xffff'ffff;
// In a RoleChange, the new role at that position + this.
inline constexpr std::uint32_t kNewRole = 0xc000'0000;

struct RoleMembership {
  std::uint32_t role = 0;
  bool admin_option = false;
  std::uint32_t grantor = kNoRole;
  friend bool operator==(const RoleMembership&, const RoleMembership&) = default;
};

struct Role {
  static constexpr std::int32_t kNoLimit = -1;

  std::uint32_t id = 0;
  std::string name;
  bool superuser = false;
  bool login = false;
  bool inherit = true;  // it has the privileges of the roles that it is a member of without SET ROLE
  bool create_role = false;
  bool create_database = false;
  bool replication = false;          // these two have no effect
  bool bypass_row_security = false;  //
  std::int32_t connection_limit = kNoLimit;
  std::optional<std::int64_t> valid_until_us;  // of the password, since 2000-01-01; none: for ever
  std::string password;                        // its SCRAM verifier, as PostgreSQL writes it; empty: none
  std::vector<RoleMembership> member_of;

  friend bool operator==(const Role&, const Role&) = default;
};

// Privileges are bits, those of PostgreSQL's aclitem.
using Privileges = std::uint32_t;
inline constexpr Privileges kInsertPrivilege = 1U << 0;
inline constexpr Privileges kSelectPrivilege = 1U << 1;
inline constexpr Privileges kUpdatePrivilege = 1U << 2;
inline constexpr Privileges kDeletePrivilege = 1U << 3;
inline constexpr Privileges kTruncatePrivilege = 1U << 4;
inline constexpr Privileges kReferencesPrivilege = 1U << 5;
inline constexpr Privileges kTriggerPrivilege = 1U << 6;
inline constexpr Privileges kExecutePrivilege = 1U << 7;
inline constexpr Privileges kUsagePrivilege = 1U << 8;
inline constexpr Privileges kCreatePrivilege = 1U << 9;

enum class ObjectKind : std::uint8_t { table = 1, sequence = 2, routine = 3, schema = 4, view = 5 };

// An object that has privileges.
struct SecuredObject {
  ObjectKind kind = ObjectKind::table;
  std::uint32_t table = 0;  // its id; 0 of all others
  std::string name;         // of all others
  friend auto operator<=>(const SecuredObject&, const SecuredObject&) = default;
  friend bool operator==(const SecuredObject&, const SecuredObject&) = default;
};

struct Grant {
  std::uint32_t grantee = kNoRole;  // PUBLIC
  std::uint32_t grantor = kNoRole;
  Privileges privileges = 0;
  Privileges grant_options = 0;
  friend bool operator==(const Grant&, const Grant&) = default;
};

struct ObjectRights {
  std::uint32_t id = 0;  // of the catalog's entry
  SecuredObject object;
  std::uint32_t owner = kNoRole;
  // None: those of any new object (default_grants).
  std::optional<std::vector<Grant>> grants;
  friend bool operator==(const ObjectRights&, const ObjectRights&) = default;
};

// All privileges that objects of a kind can have.
Privileges all_privileges(ObjectKind kind);
std::vector<Grant> default_grants(ObjectKind kind, std::uint32_t owner);

class Roles {
 public:
  Roles() = default;
  // Sound ones: ids and names come once each.
  Roles(std::vector<Role> roles, std::vector<ObjectRights> rights, std::uint64_t version);

  // The catalog's version when a role or the rights of an object last changed.
  std::uint64_t version() const { return version_; }
  bool empty() const { return roles_.empty(); }
  // All roles, by id.
  const std::vector<Role>& all() const { return roles_; }
  const std::vector<ObjectRights>& rights() const { return rights_; }
  // Null: there is none.
  const Role* find(std::string_view name) const;
  const Role* find(std::uint32_t id) const;
  const ObjectRights* rights_of(const SecuredObject& object) const;
  std::uint32_t owner_of(const SecuredObject& object) const;
  // The grants that count for the object, those of any new one if it has none of its own.
  std::vector<Grant> grants_of(const SecuredObject& object) const;

  bool is_superuser(std::uint32_t role) const;
  // Whether `member` is the role, or a member of it, directly or not; superusers are members of all.
  bool is_member(std::uint32_t member, std::uint32_t role) const;
  // The same, but by memberships alone.
  bool is_named_member(std::uint32_t member, std::uint32_t role) const;
  // Whether `member` may do what the role may do, without SET ROLE.
  bool inherits(std::uint32_t member, std::uint32_t role) const;
  // Whether `member` may grant the role to others, not by being a superuser or by CREATEROLE.
  bool has_admin_option(std::uint32_t member, std::uint32_t role) const;
  Privileges privileges(std::uint32_t role, const SecuredObject& object) const;
  // The privileges that the role may grant.
  Privileges grant_options(std::uint32_t role, const SecuredObject& object) const;

 private:
  enum class Reach : std::uint8_t { members, inheritance };
  bool reaches(std::uint32_t member, std::uint32_t role, Reach reach) const;

  std::vector<Role> roles_;
  std::vector<ObjectRights> rights_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::map<SecuredObject, std::size_t> by_object_;
  std::uint64_t version_ = 0;
};
using RolesRef = std::shared_ptr<const Roles>;

}  // namespace namdb::storage

namespace namdb::txn {

// A change of roles and rights that is made as a whole or not at all.
struct RoleChange {
  std::uint64_t version = 0;         // of the Roles that it was made from
  std::vector<storage::Role> roles;  // new ones, with id 0, or in the place of those with their ids
  std::vector<std::uint32_t> dropped_roles;
  std::vector<storage::ObjectRights> rights;  // likewise
  std::vector<std::uint32_t> dropped_rights;  // ids of entries

  bool empty() const {
    return roles.empty() && dropped_roles.empty() && rights.empty() && dropped_rights.empty();
  }
};

}  // namespace namdb::txn
