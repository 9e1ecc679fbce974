#include "compute/sql/session/role_change.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "compute/authentication/scram.h"
#include "compute/sql/value/timestamp.h"

namespace namdb::sql {
namespace {

using storage::Role;
using storage::RoleMembership;
using txn::RoleChange;

constexpr std::size_t kMaxRoleName_bytes = 63;

Status check_new_name(RoleActor& actor, const std::string& name) {
  if (name.starts_with("pg_")) {
    actor.detail = "Role names starting with \"pg_\" are reserved.";
    return Status(ErrorCode::reserved_name, "role name \"" + name + "\" is reserved");
  }
  if (name.empty() || name.size() > kMaxRoleName_bytes)
    return Status(ErrorCode::invalid_name, "a role's name has 1 to 63 bytes");
  return {};
}

// "infinity" is the greatest time that there is.
Result<std::optional<std::int64_t>> valid_until(const RoleActor& actor, const std::string& text) {
  auto time = parse_timestamp_with_zone(text, actor.facts.time());
  if (!time.ok()) return time.status();
  return std::optional<std::int64_t>(*time);
}

Status set_options(const RoleActor& actor, const RoleOptions& options, const std::string& password,
                   Role& role) {
  const auto set = [](const std::optional<bool>& option, bool& value) { value = option.value_or(value); };
  set(options.superuser, role.superuser);
  set(options.login, role.login);
  set(options.inherit, role.inherit);
  set(options.create_role, role.create_role);
  set(options.create_database, role.create_database);
  set(options.replication, role.replication);
  set(options.bypass_row_security, role.bypass_row_security);
  role.connection_limit = options.connection_limit.value_or(role.connection_limit);
  if (options.valid_until) {
    auto until = valid_until(actor, *options.valid_until);
    if (!until.ok()) return until.status();
    role.valid_until_us = *until;
  }
  if (options.has_password) role.password = password;
  return {};
}

void tell_of_empty_password(RoleActor& actor, const RoleOptions& options) {
  if (options.has_password && options.password && options.password->empty())
    actor.notify("NOTICE", "00000", "empty string is not a valid password, clearing password");
}

Role recorded_user(const RoleActor& actor) {
  Role user;
  user.name = actor.facts.session_user;
  user.superuser = user.login = user.create_role = user.create_database = true;
  user.replication = user.bypass_row_security = true;
  return user;
}

// The role among those that the change has; added as it is now, if it is not there.
Role& changed_role(const RoleActor& actor, RoleChange& change, std::uint32_t id) {
  const auto found = std::ranges::find(change.roles, id, &Role::id);
  if (found != change.roles.end()) return *found;
  return change.roles.emplace_back(*actor.roles.find(id));
}

bool is_in(const Role& role, std::uint32_t group) {
  return std::ranges::find(role.member_of, group, &RoleMembership::role) != role.member_of.end();
}

// By its own attribute, or by SET ROLE.
bool may_become_superuser(const RoleActor& actor, std::uint32_t role) {
  return std::ranges::any_of(actor.roles.all(), [&](const Role& other) {
    return other.superuser && actor.roles.is_named_member(role, other.id);
  });
}

// Whether the user may give that role to others.
Status check_may_grant(const RoleActor& actor, const Role& group) {
  if (actor.is_superuser()) return {};
  if (may_become_superuser(actor, group.id)) return role_denied("must be superuser to alter superusers");
  if (actor.may_create_roles() || actor.has_admin(group.id)) return {};
  return role_denied("must have admin option on role \"" + group.name + "\"");
}

// One role becomes a member of another. `tells`: of nothing to do.
Status add_member(RoleActor& actor, RoleChange& change, const Role& group, std::uint32_t member,
                  bool admin_option) {
  const std::string name = actor.name_of(member);
  // A superuser does not count as a member of all roles here.
  if (member == group.id || actor.roles.is_named_member(group.id, member)) {
    return Status(ErrorCode::invalid_grant_operation,
                  "role \"" + group.name + "\" is a member of role \"" + name + "\"");
  }
  Role& changed = changed_role(actor, change, member);
  const auto there = std::ranges::find(changed.member_of, group.id, &RoleMembership::role);
  if (there == changed.member_of.end()) {
    changed.member_of.push_back({group.id, admin_option, actor.current});
    return {};
  }
  if (there->admin_option || !admin_option) {
    actor.notify("NOTICE", "00000",
                 "role \"" + name + "\" is already a member of role \"" + group.name + "\"");
    return {};
  }
  there->admin_option = true;
  return {};
}

void remove_member(RoleActor& actor, RoleChange& change, const Role& group, std::uint32_t member,
                   bool admin_option) {
  Role& changed = changed_role(actor, change, member);
  if (!is_in(changed, group.id)) {
    actor.notify("WARNING", "01000",
                 "role \"" + changed.name + "\" is not a member of role \"" + group.name + "\"");
    return;
  }
  if (admin_option) {
    std::ranges::find(changed.member_of, group.id, &RoleMembership::role)->admin_option = false;
  } else {
    std::erase_if(changed.member_of, [&](const RoleMembership& other) { return other.role == group.id; });
  }
}

Result<std::vector<std::uint32_t>> find_all(const RoleActor& actor, const std::vector<RoleName>& names) {
  std::vector<std::uint32_t> found;
  for (const RoleName& name : names) {
    // PUBLIC is not a role here.
    const auto role = name.kind == RoleName::Kind::everybody ? Result<std::uint32_t>(no_such_role("public"))
                                                             : actor.find(name);
    if (!role.ok()) return role.status();
    found.push_back(*role);
  }
  return found;
}

// A superuser that may log in must be left.
Status check_superuser_is_left(const RoleActor& actor, const RoleChange& change, const std::string& name) {
  for (const Role& role : actor.roles.all()) {
    const auto changed = std::ranges::find(change.roles, role.id, &Role::id);
    const bool is_dropped = std::ranges::find(change.dropped_roles, role.id) != change.dropped_roles.end();
    const Role& then = changed == change.roles.end() ? role : *changed;
    if (!is_dropped && then.superuser && then.login) return {};
  }
  return Status(ErrorCode::feature_not_supported, "role \"" + name + "\" is the last superuser",
                "make another role a superuser that may log in first");
}

}  // namespace

Result<std::string> stored_password(const RoleOptions& options) {
  if (!options.has_password || !options.password || options.password->empty()) return std::string();
  const std::string& password = *options.password;
  if (authentication::is_scram_verifier(password)) return password;
  const bool is_md5 = password.size() == 35 && password.starts_with("md5") &&
                      password.find_first_not_of("0123456789abcdef", 3) == std::string::npos;
  if (is_md5)
    return Status(ErrorCode::feature_not_supported, "a password's MD5 sum is not supported",
                  "give the password itself, or its SCRAM-SHA-256 verifier");
  return authentication::scram_verifier(password);
}

namespace {

// The first role locks no user out: the session's user becomes one, too, unless that is the first role.
Result<RoleChange> first_role(RoleActor& actor, const CreateRolePlan& create, Role role) {
  Role user = recorded_user(actor);
  const bool is_own = user.name == role.name;
  for (const auto* const names : {&create.member_of, &create.members, &create.admins}) {
    for (const RoleName& name : *names) {
      const bool names_user = name.kind == RoleName::Kind::current || name.kind == RoleName::Kind::session ||
                              (name.kind == RoleName::Kind::named && name.name == user.name);
      if (!names_user || is_own) return no_such_role(names_user ? user.name : name.name);
    }
  }
  actor.notify("NOTICE", "00000",
               "role \"" + user.name +
                   "\" is a superuser from now on: there was no role so far, and every user counted as one");
  RoleChange change;
  change.version = actor.roles.version();
  if (is_own) {
    role.superuser = role.login = true;
    change.roles.push_back(std::move(role));
    return change;
  }
  if (!create.member_of.empty()) role.member_of.push_back({storage::kNewRole, false, storage::kNewRole});
  if (!create.members.empty() || !create.admins.empty())
    user.member_of.push_back({storage::kNewRole + 1, !create.admins.empty(), storage::kNewRole});
  change.roles = {std::move(user), std::move(role)};
  return change;
}

}  // namespace

Result<RoleChange> change_of(RoleActor& actor, const CreateRolePlan& create, const std::string& password) {
  const RoleOptions& options = create.options;
  if (options.superuser.value_or(false) && !actor.is_superuser())
    return role_denied("must be superuser to create superusers");
  if (options.replication.value_or(false) && !actor.is_superuser())
    return role_denied("must be superuser to create replication users");
  if (options.bypass_row_security && !actor.is_superuser())
    return role_denied("must be superuser to create bypassrls users");
  if (!actor.may_create_roles()) return role_denied("permission denied to create role");
  if (Status status = check_new_name(actor, create.name); !status.ok()) return status;
  if (actor.roles.find(create.name) != nullptr)
    return Status(ErrorCode::duplicate_object, "role \"" + create.name + "\" already exists");
  Role role;
  role.name = create.name;
  if (Status status = set_options(actor, options, password, role); !status.ok()) return status;
  tell_of_empty_password(actor, options);
  if (actor.roles.empty()) return first_role(actor, create, std::move(role));
  RoleChange change;
  change.version = actor.roles.version();
  const auto groups = find_all(actor, create.member_of);
  if (!groups.ok()) return groups.status();
  for (const std::uint32_t group : *groups) {
    if (Status status = check_may_grant(actor, *actor.roles.find(group)); !status.ok()) return status;
    if (!is_in(role, group)) role.member_of.push_back({group, false, actor.current});
  }
  change.roles.push_back(role);
  for (const bool admin : {false, true}) {
    const auto members = find_all(actor, admin ? create.admins : create.members);
    if (!members.ok()) return members.status();
    for (const std::uint32_t member : *members) {
      Role& changed = changed_role(actor, change, member);
      if (std::ranges::find(*groups, member) != groups->end()) {
        return Status(ErrorCode::invalid_grant_operation,
                      "role \"" + role.name + "\" is a member of role \"" + changed.name + "\"");
      }
      changed.member_of.push_back({storage::kNewRole, admin, actor.current});
    }
  }
  return change;
}

Result<RoleChange> change_of(RoleActor& actor, const AlterRolePlan& alter, const std::string& password) {
  const RoleOptions& options = alter.options;
  if (alter.role.kind == RoleName::Kind::named && alter.role.name.starts_with("pg_")) {
    actor.detail = "Cannot alter reserved roles.";
    return Status(ErrorCode::reserved_name, "role name \"" + alter.role.name + "\" is reserved");
  }
  const auto id = actor.find(alter.role);
  if (!id.ok()) return id.status();
  RoleChange change;
  change.version = actor.roles.version();
  Role role = *actor.roles.find(*id);
  if (alter.of_members) {
    if (Status status = check_may_grant(actor, role); !status.ok()) return status;
    const auto members = find_all(actor, alter.members);
    if (!members.ok()) return members.status();
    for (const std::uint32_t member : *members) {
      Status status;
      if (alter.adds_members) status = add_member(actor, change, role, member, false);
      if (!alter.adds_members) remove_member(actor, change, role, member, false);
      if (!status.ok()) return status;
    }
    return change;
  }
  if (!actor.is_superuser() && (options.superuser || may_become_superuser(actor, role.id)))
    return role_denied("must be superuser to alter superuser roles or change superuser attribute");
  if ((role.replication || options.replication) && !actor.is_superuser())
    return role_denied("must be superuser to alter replication roles or change replication attribute");
  if (options.bypass_row_security && !actor.is_superuser())
    return role_denied("must be superuser to change bypassrls attribute");
  if (!actor.may_create_roles() && (options.changes_attributes() || role.id != actor.current))
    return role_denied("permission denied");
  if (Status status = set_options(actor, options, password, role); !status.ok()) return status;
  tell_of_empty_password(actor, options);
  const std::string name = role.name;
  change.roles.push_back(std::move(role));
  if (Status status = check_superuser_is_left(actor, change, name); !status.ok()) return status;
  return change;
}

Result<RoleChange> change_of(RoleActor& actor, const RenameRolePlan& rename) {
  const auto id = actor.find(rename.name);
  if (!id.ok()) return id.status();
  Role role = *actor.roles.find(*id);
  if (role.id == actor.session)
    return Status(ErrorCode::feature_not_supported, "session user cannot be renamed");
  if (role.id == actor.current)
    return Status(ErrorCode::feature_not_supported, "current user cannot be renamed");
  if (rename.name.starts_with("pg_")) {
    actor.detail = "Role names starting with \"pg_\" are reserved.";
    return Status(ErrorCode::reserved_name, "role name \"" + rename.name + "\" is reserved");
  }
  if (Status status = check_new_name(actor, rename.other); !status.ok()) return status;
  if (actor.roles.find(rename.other) != nullptr)
    return Status(ErrorCode::duplicate_object, "role \"" + rename.other + "\" already exists");
  if (role.superuser && !actor.is_superuser()) return role_denied("must be superuser to rename superusers");
  if (!actor.may_create_roles()) return role_denied("permission denied to rename role");
  role.name = rename.other;
  RoleChange change;
  change.version = actor.roles.version();
  change.roles.push_back(std::move(role));
  return change;
}

Result<RoleChange> change_of(RoleActor& actor, const GrantRolePlan& grant) {
  RoleChange change;
  change.version = actor.roles.version();
  if (grant.grantor) {
    const auto grantor = actor.find(*grant.grantor);
    if (!grantor.ok()) return grantor.status();
    if (!actor.roles.is_member(actor.current, *grantor))
      return role_denied("must be superuser to set grantor");
  }
  const auto members = find_all(actor, grant.members);
  if (!members.ok()) return members.status();
  for (const std::string& name : grant.roles) {
    const auto id = actor.find(name);
    if (!id.ok()) return id.status();
    const Role group = *actor.roles.find(*id);
    if (Status status = check_may_grant(actor, group); !status.ok()) return status;
    for (const std::uint32_t member : *members) {
      Status status;
      if (grant.is_grant) status = add_member(actor, change, group, member, grant.admin_option);
      if (!grant.is_grant) remove_member(actor, change, group, member, grant.admin_option);
      if (!status.ok()) return status;
    }
  }
  return change;
}

namespace {

// The objects that would be left without the role, for people.
std::string dependencies_of(const RoleActor& actor, std::uint32_t role,
                            const std::map<storage::SecuredObject, std::string>& objects) {
  std::string text;
  const auto add = [&text](const std::string& line) { text += (text.empty() ? "" : "\n") + line; };
  for (const storage::ObjectRights& rights : actor.roles.rights()) {
    const auto named = objects.find(rights.object);
    if (named == objects.end()) continue;
    const auto names_role = [role](const storage::Grant& grant) {
      return grant.grantee == role || grant.grantor == role;
    };
    if (rights.owner == role) {
      add("owner of " + named->second);
    } else if (rights.grants && std::ranges::any_of(*rights.grants, names_role)) {
      add("privileges for " + named->second);
    }
  }
  return text;
}

}  // namespace

Result<RoleChange> change_of(RoleActor& actor, const DropRolePlan& drop,
                             const std::map<storage::SecuredObject, std::string>& objects) {
  if (!actor.may_create_roles()) return role_denied("permission denied to drop role");
  RoleChange change;
  change.version = actor.roles.version();
  std::string last_name;
  for (const RoleName& name : drop.roles) {
    if (name.kind != RoleName::Kind::named)
      return Status(ErrorCode::invalid_parameter_value, "cannot use special role specifier in DROP ROLE");
    const Role* const role = actor.roles.find(name.name);
    if (role == nullptr && drop.if_exists) {
      actor.notify("NOTICE", "00000", "role \"" + name.name + "\" does not exist, skipping");
      continue;
    }
    if (role == nullptr) return no_such_role(name.name);
    if (role->id == actor.current) return Status(ErrorCode::object_in_use, "current user cannot be dropped");
    if (role->id == actor.session) return Status(ErrorCode::object_in_use, "session user cannot be dropped");
    if (role->superuser && !actor.is_superuser()) return role_denied("must be superuser to drop superusers");
    if (std::string others = dependencies_of(actor, role->id, objects); !others.empty()) {
      actor.detail = std::move(others);
      return Status(ErrorCode::dependent_objects_still_exist,
                    "role \"" + role->name + "\" cannot be dropped because some objects depend on it");
    }
    if (std::ranges::find(change.dropped_roles, role->id) == change.dropped_roles.end())
      change.dropped_roles.push_back(role->id);
    last_name = role->name;
  }
  const auto is_dropped = [&change](std::uint32_t id) {
    return std::ranges::find(change.dropped_roles, id) != change.dropped_roles.end();
  };
  // Memberships in them, and those that they have granted, go or lose their grantor.
  for (const Role& role : actor.roles.all()) {
    if (is_dropped(role.id)) continue;
    Role kept = role;
    std::erase_if(kept.member_of, [&](const RoleMembership& other) { return is_dropped(other.role); });
    for (RoleMembership& membership : kept.member_of) {
      if (is_dropped(membership.grantor)) membership.grantor = storage::kNoRole;
    }
    if (kept != role) change.roles.push_back(std::move(kept));
  }
  // Rights of objects that are gone.
  for (const storage::ObjectRights& rights : actor.roles.rights()) {
    const bool names_one =
        is_dropped(rights.owner) ||
        (rights.grants && std::ranges::any_of(*rights.grants, [&](const storage::Grant& grant) {
           return is_dropped(grant.grantee) || is_dropped(grant.grantor);
         }));
    if (names_one) change.dropped_rights.push_back(rights.id);
  }
  if (!change.dropped_roles.empty()) {
    if (Status status = check_superuser_is_left(actor, change, last_name); !status.ok()) return status;
  }
  return change;
}

}  // namespace namdb::sql
