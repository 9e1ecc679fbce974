#include "compute/sql/session/grant_change.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace namdb::sql {
namespace {

using storage::Grant;
using storage::kNoRole;
using storage::ObjectKind;
using storage::ObjectRights;
using storage::Privileges;
using txn::RoleChange;

Status denied(const FoundObject& object) {
  return Status(ErrorCode::insufficient_privilege,
                "permission denied for " + std::string(object.word) + " " + object.name);
}

// The rights of the object as they are, its grants said in full.
ObjectRights rights_in_full(const storage::Roles& roles, const storage::SecuredObject& object) {
  ObjectRights rights;
  if (const ObjectRights* const found = roles.rights_of(object)) rights = *found;
  rights.object = object;
  if (!rights.grants) rights.grants = storage::default_grants(object.kind, rights.owner);
  return rights;
}

void drop_empty(std::vector<Grant>& grants) {
  std::erase_if(grants, [](const Grant& grant) { return grant.privileges == 0 && grant.grant_options == 0; });
}

Grant& grant_of(std::vector<Grant>& grants, std::uint32_t grantee, std::uint32_t grantor) {
  const auto found = std::ranges::find_if(
      grants, [&](const Grant& grant) { return grant.grantee == grantee && grant.grantor == grantor; });
  if (found != grants.end()) return *found;
  return grants.emplace_back(Grant{grantee, grantor, 0, 0});
}

// The privileges among those that the grantee may grant, because of some grant.
Privileges options_of(const std::vector<Grant>& grants, std::uint32_t grantee) {
  Privileges options = 0;
  for (const Grant& grant : grants) options |= grant.grantee == grantee ? grant.grant_options : 0;
  return options;
}

struct Revocation {
  std::uint32_t grantee = kNoRole;
  std::uint32_t grantor = kNoRole;
  Privileges privileges = 0;
  Privileges grant_options = 0;
};

// Grants to others by a grant option that the grantee loses go with it, or are an error.
Status revoke(std::vector<Grant>& grants, std::uint32_t owner, Revocation first, bool cascades) {
  std::vector<Revocation> open = {first};
  while (!open.empty()) {
    const Revocation next = open.back();
    open.pop_back();
    Grant& grant = grant_of(grants, next.grantee, next.grantor);
    const Privileges had = grant.grant_options;
    grant.privileges &= ~next.privileges;
    grant.grant_options &= ~(next.grant_options | next.privileges);
    // Owners may always grant.
    if (next.grantee == kNoRole || next.grantee == owner) continue;
    const Privileges lost = had & ~grant.grant_options & ~options_of(grants, next.grantee);
    if (lost == 0) continue;
    for (const Grant& other : grants) {
      const Privileges dependent = other.privileges & lost;
      if (other.grantor != next.grantee || dependent == 0) continue;
      if (!cascades) {
        return Status(ErrorCode::dependent_objects_still_exist, "dependent privileges exist",
                      "Use CASCADE to revoke them too.");
      }
      open.push_back({other.grantee, other.grantor, dependent, dependent});
    }
  }
  return {};
}

// Whether the grantor has the grant option from the grantee alone: then they would hold each other.
Status check_circle(std::vector<Grant> grants, std::uint32_t owner, std::uint32_t grantee,
                    std::uint32_t grantor, Privileges options) {
  if (grantor == owner || options == 0) return {};
  std::vector<Grant> from_grantee;
  for (const Grant& grant : grants) {
    if (grant.grantor == grantee || grant.grantee == grantee) from_grantee.push_back(grant);
  }
  // Without all that the grantee may grant, the grantor must still have the option.
  for (const Grant& grant : from_grantee) {
    if (grant.grantee != grantee || grant.grant_options == 0) continue;
    const Status status =
        revoke(grants, owner, {grantee, grant.grantor, grant.grant_options, grant.grant_options}, true);
    if (!status.ok()) return status;
  }
  if ((options_of(grants, grantor) & options) == options) return {};
  return Status(ErrorCode::invalid_grant_operation,
                "grant options cannot be granted back to your own grantor");
}

// The role whose grant it is: the owner, if the user may act as the owner; else one that may grant the most.
struct Grantor {
  std::uint32_t role = kNoRole;
  Privileges options = 0;
};

Grantor best_grantor(const RoleActor& actor, const ObjectRights& rights, Privileges wanted) {
  const bool owns =
      rights.owner == kNoRole ? actor.is_superuser() : actor.roles.inherits(actor.current, rights.owner);
  if (owns || actor.is_superuser()) return {rights.owner, storage::all_privileges(rights.object.kind)};
  Grantor best{actor.current, options_of(*rights.grants, actor.current) & wanted};
  for (const storage::Role& role : actor.roles.all()) {
    if (!actor.roles.inherits(actor.current, role.id)) continue;
    const Privileges options = options_of(*rights.grants, role.id) & wanted;
    if (std::popcount(options) > std::popcount(best.options)) best = {role.id, options};
  }
  return best;
}

// The privileges that are granted or revoked, of those that the statement asks for.
Result<Privileges> granted_part(RoleActor& actor, const GrantPlan& grant, const FoundObject& object,
                                const Grantor& grantor, Privileges wanted) {
  if (grantor.options == 0) {
    const bool has_some = actor.roles.privileges(actor.current, object.object) != 0 ||
                          actor.roles.grant_options(actor.current, object.object) != 0;
    if (!has_some) return denied(object);
  }
  const Privileges part = wanted & grantor.options;
  if (part == wanted) return part;
  const std::string verb = grant.is_grant ? "were granted" : "could be revoked";
  const std::string_view sqlstate = grant.is_grant ? "01007" : "01006";
  if (part == 0) {
    actor.notify("WARNING", sqlstate, "no privileges " + verb + " for \"" + object.name + "\"");
  } else if (!grant.all_privileges) {
    actor.notify("WARNING", sqlstate, "not all privileges " + verb + " for \"" + object.name + "\"");
  }
  return part;
}

// The privileges of the statement that the object can have.
Result<Privileges> fitting_privileges(RoleActor& actor, const GrantPlan& grant, const FoundObject& object) {
  const Privileges known = storage::all_privileges(object.object.kind);
  if (grant.all_privileges || (grant.privileges & ~known) == 0) return grant.privileges & known;
  if (object.object.kind == ObjectKind::table)
    return Status(ErrorCode::invalid_grant_operation, "invalid privilege type USAGE for table");
  // GRANT ... ON TABLE of a sequence.
  actor.notify("WARNING", "0LP01",
               "sequence \"" + object.name + "\" only supports USAGE, SELECT, and UPDATE privileges");
  return grant.privileges & known;
}

Status check_public_usage(const GrantPlan& grant, const FoundObject& object, std::uint32_t grantee,
                          Privileges part) {
  if (grant.is_grant || object.object.kind != ObjectKind::schema || grantee != kNoRole) return {};
  if (grant.grant_option || (part & storage::kUsagePrivilege) == 0 || grant.all_privileges) return {};
  return Status(ErrorCode::feature_not_supported,
                "REVOKE USAGE ON SCHEMA public FROM PUBLIC is not supported",
                "revoke the privileges of its tables");
}

}  // namespace

Status check_owner(const storage::Roles& roles, std::uint32_t role, const FoundObject& object) {
  const std::uint32_t owner = roles.owner_of(object.object);
  if (roles.is_superuser(role) || (owner != kNoRole && roles.inherits(role, owner))) return {};
  return Status(ErrorCode::insufficient_privilege,
                "must be owner of " + std::string(object.word) + " " + object.name);
}

Result<RoleChange> change_of(RoleActor& actor, const GrantPlan& grant,
                             const std::vector<FoundObject>& objects) {
  RoleChange change;
  change.version = actor.roles.version();
  if (grant.grantor) {
    const auto grantor = actor.find(*grant.grantor);
    if (!grantor.ok()) return grantor.status();
    if (*grantor != actor.current)
      return Status(ErrorCode::feature_not_supported, "grantor must be current user");
  }
  std::vector<std::uint32_t> grantees;
  for (const RoleName& name : grant.grantees) {
    const auto grantee = actor.find(name);
    if (!grantee.ok()) return grantee.status();
    grantees.push_back(*grantee);
  }
  const bool to_public = std::ranges::find(grantees, kNoRole) != grantees.end();
  if (grant.is_grant && grant.grant_option && to_public)
    return Status(ErrorCode::invalid_grant_operation, "grant options can only be granted to roles");
  for (const FoundObject& object : objects) {
    const auto wanted = fitting_privileges(actor, grant, object);
    if (!wanted.ok()) return wanted.status();
    ObjectRights rights = rights_in_full(actor.roles, object.object);
    const Grantor grantor = best_grantor(actor, rights, *wanted);
    const auto part = granted_part(actor, grant, object, grantor, *wanted);
    if (!part.ok()) return part.status();
    for (const std::uint32_t grantee : grantees) {
      Status status = check_public_usage(grant, object, grantee, *part);
      if (status.ok() && grant.is_grant) {
        if (grant.grant_option && grantee != rights.owner)
          status = check_circle(*rights.grants, rights.owner, grantee, grantor.role, *part);
        Grant& entry = grant_of(*rights.grants, grantee, grantor.role);
        entry.privileges |= *part;
        if (grant.grant_option) entry.grant_options |= *part;
      } else if (status.ok()) {
        const bool only_option = grant.grant_option;
        status = revoke(*rights.grants, rights.owner, {grantee, grantor.role, only_option ? 0 : *part, *part},
                        grant.cascades);
      }
      if (!status.ok()) return status;
    }
    drop_empty(*rights.grants);
    change.rights.push_back(std::move(rights));
  }
  return change;
}

namespace {

// The rights with another owner, who takes the former one's place in its grants, too.
void replace_owner(ObjectRights& rights, std::uint32_t owner) {
  const std::uint32_t former = std::exchange(rights.owner, owner);
  if (!rights.grants || former == owner) return;
  std::vector<Grant> grants;
  // The object had no owner: no role had an owner's privileges by a grant.
  if (former == kNoRole) grants.push_back({owner, owner, storage::all_privileges(rights.object.kind), 0});
  for (Grant grant : *rights.grants) {
    if (grant.grantor == former) grant.grantor = owner;
    if (former != kNoRole && grant.grantee == former) grant.grantee = owner;
    Grant& merged = grant_of(grants, grant.grantee, grant.grantor);
    merged.privileges |= grant.privileges;
    merged.grant_options |= grant.grantee == owner ? 0 : grant.grant_options;
  }
  rights.grants = std::move(grants);
}

}  // namespace

Result<RoleChange> change_of(RoleActor& actor, const ChangeOwnerPlan& plan, const FoundObject& object) {
  RoleChange change;
  change.version = actor.roles.version();
  const auto owner = actor.find(plan.owner);
  if (!owner.ok()) return owner.status();
  ObjectRights rights;
  if (const ObjectRights* const found = actor.roles.rights_of(object.object)) rights = *found;
  rights.object = object.object;
  if (rights.owner == *owner) return change;
  if (Status status = check_owner(actor.roles, actor.current, object); !status.ok()) return status;
  if (!actor.is_superuser()) {
    if (!actor.roles.is_named_member(actor.current, *owner))
      return role_denied("must be member of role \"" + actor.name_of(*owner) + "\"");
    const Privileges there = actor.roles.privileges(*owner, {ObjectKind::schema, 0, "public"});
    if ((there & storage::kCreatePrivilege) == 0)
      return Status(ErrorCode::insufficient_privilege, "permission denied for schema public");
  }
  replace_owner(rights, *owner);
  change.rights.push_back(std::move(rights));
  return change;
}

namespace {

// Roles of which the user may dispose.
Result<std::vector<std::uint32_t>> disposable(const RoleActor& actor, const std::vector<RoleName>& names,
                                              std::string_view verb) {
  std::vector<std::uint32_t> roles;
  for (const RoleName& name : names) {
    const auto role = actor.find(name);
    if (!role.ok()) return role.status();
    if (!actor.roles.inherits(actor.current, *role))
      return role_denied("permission denied to " + std::string(verb) + " objects");
    roles.push_back(*role);
  }
  return roles;
}

}  // namespace

Result<RoleChange> change_of(RoleActor& actor, const ReassignOwnedPlan& reassign) {
  const auto roles = disposable(actor, reassign.roles, "reassign");
  if (!roles.ok()) return roles.status();
  const auto other = disposable(actor, {reassign.other}, "reassign");
  if (!other.ok()) return other.status();
  RoleChange change;
  change.version = actor.roles.version();
  for (const ObjectRights& rights : actor.roles.rights()) {
    if (std::ranges::find(*roles, rights.owner) == roles->end() || rights.owner == other->front()) continue;
    ObjectRights moved = rights;
    replace_owner(moved, other->front());
    change.rights.push_back(std::move(moved));
  }
  return change;
}

Result<RoleChange> change_of(RoleActor& actor, const DropOwnedPlan& drop,
                             const std::vector<FoundObject>& objects) {
  const auto roles = disposable(actor, drop.roles, "drop");
  if (!roles.ok()) return roles.status();
  const auto is_one = [&roles](std::uint32_t role) {
    return role != kNoRole && std::ranges::find(*roles, role) != roles->end();
  };
  RoleChange change;
  change.version = actor.roles.version();
  for (const FoundObject& object : objects) {
    const ObjectRights* const found = actor.roles.rights_of(object.object);
    if (found == nullptr) continue;
    if (is_one(found->owner)) {
      return Status(ErrorCode::feature_not_supported,
                    "DROP OWNED of a role that owns " + std::string(object.word) + " " + object.name +
                        " is not supported",
                    "drop it, or give it to another role: REASSIGN OWNED");
    }
    if (!found->grants) continue;
    ObjectRights rights = *found;
    // With them go the grants that others have by theirs.
    for (const Grant& grant : *found->grants) {
      if (!is_one(grant.grantee) && !is_one(grant.grantor)) continue;
      const Status status = revoke(
          *rights.grants, rights.owner,
          {grant.grantee, grant.grantor, grant.privileges | grant.grant_options, grant.grant_options}, true);
      if (!status.ok()) return status;
    }
    drop_empty(*rights.grants);
    if (rights != *found) change.rights.push_back(std::move(rights));
  }
  return change;
}

}  // namespace namdb::sql
