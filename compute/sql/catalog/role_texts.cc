#include "compute/sql/catalog/role_texts.h"

#include <algorithm>
#include <array>

#include "compute/sql/catalog/catalog.h"

namespace namdb::sql {
namespace {

constexpr std::array kNames = {
    PrivilegeName{"INSERT", 'a', storage::kInsertPrivilege},
    PrivilegeName{"SELECT", 'r', storage::kSelectPrivilege},
    PrivilegeName{"UPDATE", 'w', storage::kUpdatePrivilege},
    PrivilegeName{"DELETE", 'd', storage::kDeletePrivilege},
    PrivilegeName{"TRUNCATE", 'D', storage::kTruncatePrivilege},
    PrivilegeName{"REFERENCES", 'x', storage::kReferencesPrivilege},
    PrivilegeName{"TRIGGER", 't', storage::kTriggerPrivilege},
    PrivilegeName{"EXECUTE", 'X', storage::kExecutePrivilege},
    PrivilegeName{"USAGE", 'U', storage::kUsagePrivilege},
    PrivilegeName{"CREATE", 'C', storage::kCreatePrivilege},
};

// As an aclitem has it: in quotes unless it is all letters, digits and underscores.
std::string name_in_grant(std::string_view name) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (plain) return std::string(name);
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string role_in_grant(std::uint32_t role, const storage::Roles& roles) {
  const storage::Role* const found = roles.find(role);
  return found == nullptr ? std::string() : name_in_grant(found->name);
}

}  // namespace

std::span<const PrivilegeName> privilege_names() {
  return kNames;
}

storage::Privileges privilege_of(std::string_view name) {
  for (const PrivilegeName& known : kNames) {
    const bool same = std::ranges::equal(name, known.name, [](char given, char upper) {
      return (given >= 'a' && given <= 'z' ? given - 'a' + 'A' : given) == upper;
    });
    if (same) return known.privilege;
  }
  return 0;
}

std::uint32_t shown_owner(const storage::Roles* roles, std::uint32_t owner) {
  if (roles == nullptr || owner != storage::kNoRole) return owner;
  for (const storage::Role& role : roles->all()) {
    if (role.superuser) return role.id;
  }
  return owner;
}

Oid role_oid(const storage::Roles* roles, std::uint32_t role) {
  if (roles == nullptr || roles->empty()) return kOwnerOid;
  return Catalog::object_oid(role);
}

Oid owner_oid(const storage::Roles* roles, std::uint32_t owner) {
  return role_oid(roles, shown_owner(roles, owner));
}

const storage::Role* find_role(const storage::Roles* roles, std::int64_t oid) {
  if (roles == nullptr) return nullptr;
  for (const storage::Role& role : roles->all()) {
    if (Catalog::object_oid(role.id) == oid) return &role;
  }
  return nullptr;
}

std::string role_name(const storage::Roles* roles, std::uint32_t owner, std::string_view user) {
  const storage::Role* const found = roles == nullptr ? nullptr : roles->find(shown_owner(roles, owner));
  return found == nullptr ? std::string(user) : found->name;
}

std::optional<std::vector<std::string>> default_grant_texts(char kind, std::string_view owner) {
  struct Default {
    char kind;
    std::string_view of_public;
    std::string_view of_owner;
  };
  constexpr std::array kDefaults = {
      Default{'c', "", ""},   Default{'r', "", "arwdDxt"}, Default{'s', "", "rwU"}, Default{'d', "Tc", "CTc"},
      Default{'f', "X", "X"}, Default{'l', "U", "U"},      Default{'L', "", "rw"},  Default{'n', "", "UC"},
      Default{'t', "", "C"},  Default{'F', "", "U"},       Default{'S', "", "U"},   Default{'T', "U", "U"},
      Default{'p', "", "sA"}};
  const auto found = std::ranges::find(kDefaults, kind, &Default::kind);
  if (found == kDefaults.end()) return std::nullopt;
  const std::string name = name_in_grant(owner);
  std::vector<std::string> grants;
  if (!found->of_public.empty()) grants.push_back("=" + std::string(found->of_public) + "/" + name);
  if (!found->of_owner.empty()) grants.push_back(name + "=" + std::string(found->of_owner) + "/" + name);
  return grants;
}

std::string grant_text(const storage::Grant& grant, std::uint32_t owner, const storage::Roles& roles) {
  std::string text = grant.grantee == storage::kNoRole ? std::string() : role_in_grant(grant.grantee, roles);
  text += '=';
  for (const PrivilegeName& known : kNames) {
    if ((grant.privileges & known.privilege) == 0) continue;
    text += known.letter;
    if ((grant.grant_options & known.privilege) != 0) text += '*';
  }
  const std::uint32_t grantor =
      grant.grantor == storage::kNoRole ? shown_owner(&roles, owner) : grant.grantor;
  return text + "/" + role_in_grant(grantor, roles);
}

}  // namespace namdb::sql
