#include "compute/sql/system/catalog_roles.h"

#include <string>
#include <utility>
#include <vector>

#include "compute/sql/catalog/role_texts.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/enumeration.h"

namespace namdb::sql {
namespace {

using storage::ObjectKind;
using storage::Role;
using storage::Roles;

using Row = CatalogRowWriter::Row;

constexpr std::string_view kHiddenPassword = "********";
constexpr std::string_view kPublicName = "PUBLIC";

const Roles* roles_of(const VirtualTableInput& input) {
  const Roles* const roles = input.facts->roles.get();
  return roles == nullptr || roles->empty() ? nullptr : roles;
}

// While there are no roles, the session's user is shown, a superuser.
std::vector<Role> shown_roles(const VirtualTableInput& input) {
  if (const Roles* const roles = roles_of(input)) return roles->all();
  Role user;
  user.name = input.facts->user;
  user.superuser = user.login = user.create_role = user.create_database = true;
  return {user};
}

// That of the schema public, too, which no role can change.
std::vector<Role> all_roles(const VirtualTableInput& input) {
  std::vector<Role> all = shown_roles(input);
  Role owner;
  owner.name = kDatabaseOwner;
  all.push_back(owner);
  return all;
}

Oid oid_of_role(const VirtualTableInput& input, const Role& role) {
  if (role.name == kDatabaseOwner) return kDatabaseOwnerOid;
  return role_oid(roles_of(input), role.id);
}

Datum time_or_null(const std::optional<std::int64_t>& time_us) {
  return time_us ? Datum::of_integer(*time_us) : Datum();
}

void add_attributes(Row& row, const Role& role) {
  row.text("rolname", role.name)
      .flag("rolsuper", role.superuser)
      .flag("rolinherit", role.inherit)
      .flag("rolcreaterole", role.create_role)
      .flag("rolcreatedb", role.create_database)
      .flag("rolcanlogin", role.login)
      .flag("rolreplication", role.replication);
}

void add_login_roles(CatalogRowWriter& rows, const VirtualTableInput& input, bool shows_passwords) {
  for (const Role& role : shown_roles(input)) {
    if (!role.login) continue;
    Row row = rows.add();
    row.text("usename", role.name)
        .number("usesysid", oid_of_role(input, role))
        .flag("usecreatedb", role.create_database)
        .flag("usesuper", role.superuser)
        .flag("userepl", role.replication)
        .flag("usebypassrls", role.bypass_row_security);
    if (!shows_passwords) {
      row.text("passwd", kHiddenPassword);
    } else if (!role.password.empty()) {
      row.text("passwd", role.password);
    }
    row.set("valuntil", time_or_null(role.valid_until_us));
  }
}

// The grants of tables, where the session's user may act for the grantor or the grantee.
void add_grants(CatalogRowWriter& rows, const VirtualTableInput& input, bool of_public) {
  const Roles* const roles = roles_of(input);
  const SessionFacts& facts = *input.facts;
  const auto acts_for = [&](std::uint32_t role) {
    return roles == nullptr ||
           roles->inherits(facts.role, role == storage::kNoRole ? shown_owner(roles, role) : role);
  };
  for (const CatalogRelation& relation : input.catalog->relations()) {
    if ((!relation.is_table() && relation.view == nullptr) || relation.schema != kPublicSchemaOid) continue;
    const storage::SecuredObject object = secured_object(relation);
    const std::uint32_t owner = roles == nullptr ? storage::kNoRole : roles->owner_of(object);
    std::vector<storage::Grant> grants =
        roles == nullptr ? storage::default_grants(object.kind, storage::kNoRole) : roles->grants_of(object);
    // Without an owner it is as if the superuser who is shown was it.
    const std::uint32_t shown = shown_owner(roles, owner);
    if (owner == storage::kNoRole)
      grants.insert(grants.begin(), {shown, shown, storage::all_privileges(object.kind), 0});
    for (const storage::Grant& grant : grants) {
      const bool is_owner = grant.grantee == shown;
      const bool is_public = grant.grantee == storage::kNoRole && roles != nullptr;
      if (is_public ? !of_public && !acts_for(grant.grantor)
                    : !acts_for(grant.grantee) && !acts_for(grant.grantor))
        continue;
      for (const PrivilegeName& known : privilege_names()) {
        if ((grant.privileges & known.privilege) == 0) continue;
        const bool may_grant = is_owner || (grant.grant_options & known.privilege) != 0;
        rows.add()
            .text("grantor", role_name(roles, grant.grantor, facts.user))
            .text("grantee",
                  is_public ? std::string(kPublicName) : role_name(roles, grant.grantee, facts.user))
            .text("table_catalog", facts.database)
            .text("table_schema", "public")
            .text("table_name", relation.name)
            .text("privilege_type", known.name)
            .text("is_grantable", may_grant ? "YES" : "NO")
            .text("with_hierarchy", known.privilege == storage::kSelectPrivilege ? "YES" : "NO");
      }
    }
  }
}

}  // namespace

storage::SecuredObject secured_object(const CatalogRelation& relation) {
  if (relation.kind == 'S') return {ObjectKind::sequence, 0, relation.name};
  if (relation.view != nullptr) return {ObjectKind::view, 0, relation.name};
  return {ObjectKind::table, relation.table == nullptr ? 0 : relation.table->id, {}};
}

Oid system_owner_oid(const VirtualTableInput& input) {
  return owner_oid(roles_of(input), storage::kNoRole);
}

RoleTexts::RoleTexts(const VirtualTableInput& input, Arena& arena)
    : input_(input), arena_(arena), roles_(roles_of(input)) {}

Oid RoleTexts::owner_oid(const CatalogRelation& relation) const {
  const std::uint32_t owner = roles_ == nullptr || relation.system != nullptr
                                  ? storage::kNoRole
                                  : roles_->owner_of(secured_object(relation));
  return sql::owner_oid(roles_, owner);
}

std::string RoleTexts::owner_name(const CatalogRelation& relation) const {
  const std::uint32_t owner = roles_ == nullptr || relation.system != nullptr
                                  ? storage::kNoRole
                                  : roles_->owner_of(secured_object(relation));
  return role_name(roles_, owner, input_.facts->user);
}

Oid RoleTexts::type_owner_oid(TypeId made) const {
  const Enumeration* const type = known_enumeration(made);
  if (roles_ == nullptr || type == nullptr) return system_owner_oid();
  return sql::owner_oid(roles_, roles_->owner_of({ObjectKind::routine, 0, type->key}));
}

Oid RoleTexts::system_owner_oid() const {
  return sql::owner_oid(roles_, storage::kNoRole);
}

std::string RoleTexts::system_owner_name() const {
  return role_name(roles_, storage::kNoRole, input_.facts->user);
}

Datum RoleTexts::grants(const CatalogRelation& relation) const {
  const bool has_grants = relation.is_table() || relation.view != nullptr || relation.kind == 'S';
  return has_grants && roles_ != nullptr ? grants_of(secured_object(relation)) : Datum();
}

// The schema's owner, and with it the grantor, is another role than that of other objects without an owner.
Datum RoleTexts::schema_grants() const {
  const storage::SecuredObject schema{ObjectKind::schema, 0, "public"};
  const storage::ObjectRights* const rights = roles_ == nullptr ? nullptr : roles_->rights_of(schema);
  const std::string owner(kDatabaseOwner);
  ArrayWriter texts(TypeId::text_array);
  texts.add(Datum::of_text(arena_.copy(owner + "=UC/" + owner)));
  if (rights == nullptr || !rights->grants) {
    texts.add(Datum::of_text(arena_.copy("=U/" + owner)));
    return texts.finish(arena_);
  }
  for (const storage::Grant& grant : *rights->grants) {
    std::string text = grant_text(grant, rights->owner, *roles_);
    if (grant.grantor == storage::kNoRole || grant.grantor == shown_owner(roles_, rights->owner))
      text = text.substr(0, text.rfind('/') + 1) + owner;
    texts.add(Datum::of_text(arena_.copy(text)));
  }
  return texts.finish(arena_);
}

Datum RoleTexts::grants_of(const storage::SecuredObject& object) const {
  const storage::ObjectRights* const rights = roles_->rights_of(object);
  if (rights == nullptr || !rights->grants) return {};
  ArrayWriter texts(TypeId::text_array);
  // As if the superuser who is shown was the owner.
  if (rights->owner == storage::kNoRole) {
    const std::uint32_t shown = shown_owner(roles_, rights->owner);
    const storage::Grant own{shown, shown, storage::all_privileges(object.kind), 0};
    texts.add(Datum::of_text(arena_.copy(grant_text(own, rights->owner, *roles_))));
  }
  for (const storage::Grant& grant : *rights->grants)
    texts.add(Datum::of_text(arena_.copy(grant_text(grant, rights->owner, *roles_))));
  return texts.finish(arena_);
}

void add_stored_roles(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const Role& role : all_roles(input)) {
    Row row = rows.add();
    row.number("oid", oid_of_role(input, role));
    add_attributes(row, role);
    row.flag("rolbypassrls", role.bypass_row_security).number("rolconnlimit", role.connection_limit);
    if (!role.password.empty()) row.text("rolpassword", role.password);
    row.set("rolvaliduntil", time_or_null(role.valid_until_us));
  }
}

void add_shown_roles(CatalogRowWriter& rows, const VirtualTableInput& input) {
  for (const Role& role : all_roles(input)) {
    Row row = rows.add();
    add_attributes(row, role);
    row.number("rolconnlimit", role.connection_limit)
        .text("rolpassword", kHiddenPassword)
        .set("rolvaliduntil", time_or_null(role.valid_until_us))
        .flag("rolbypassrls", role.bypass_row_security)
        .number("oid", oid_of_role(input, role));
  }
}

void add_users(CatalogRowWriter& rows, const VirtualTableInput& input) {
  add_login_roles(rows, input, false);
}

void add_shadows(CatalogRowWriter& rows, const VirtualTableInput& input) {
  add_login_roles(rows, input, true);
}

void add_groups(CatalogRowWriter& rows, const VirtualTableInput& input) {
  const std::vector<Role> all = shown_roles(input);
  for (const Role& group : all) {
    if (group.login) continue;
    ArrayWriter members(TypeId::oid_array);
    for (const Role& role : all) {
      for (const storage::RoleMembership& membership : role.member_of) {
        if (membership.role == group.id) members.add(Datum::of_integer(oid_of_role(input, role)));
      }
    }
    rows.add()
        .text("groname", group.name)
        .number("grosysid", oid_of_role(input, group))
        .set("grolist", members.finish(rows.arena()));
  }
}

void add_memberships(CatalogRowWriter& rows, const VirtualTableInput& input) {
  const Roles* const roles = roles_of(input);
  if (roles == nullptr) return;
  for (const Role& role : roles->all()) {
    for (const storage::RoleMembership& membership : role.member_of) {
      rows.add()
          .number("roleid", role_oid(roles, membership.role))
          .number("member", role_oid(roles, role.id))
          .number("grantor", owner_oid(roles, membership.grantor))
          .flag("admin_option", membership.admin_option);
    }
  }
}

void add_table_privileges(CatalogRowWriter& rows, const VirtualTableInput& input) {
  add_grants(rows, input, true);
}

void add_role_table_grants(CatalogRowWriter& rows, const VirtualTableInput& input) {
  add_grants(rows, input, false);
}

void add_enabled_roles(CatalogRowWriter& rows, const VirtualTableInput& input) {
  const Roles* const roles = roles_of(input);
  for (const Role& role : shown_roles(input)) {
    if (roles == nullptr || roles->inherits(input.facts->role, role.id))
      rows.add().text("role_name", role.name);
  }
}

void add_applicable_roles(CatalogRowWriter& rows, const VirtualTableInput& input) {
  const Roles* const roles = roles_of(input);
  if (roles == nullptr) return;
  for (const Role& role : roles->all()) {
    if (!roles->is_named_member(input.facts->role, role.id)) continue;
    for (const storage::RoleMembership& membership : role.member_of) {
      rows.add()
          .text("grantee", role.name)
          .text("role_name", role_name(roles, membership.role, {}))
          .text("is_grantable", membership.admin_option ? "YES" : "NO");
    }
  }
}

}  // namespace namdb::sql
