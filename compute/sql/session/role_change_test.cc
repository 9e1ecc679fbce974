// Changes of roles and rights, where PostgreSQL has no answer to compare with: the first role, the last
// superuser, objects without an owner, and changes by several users at once.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "compute/sql/session/grant_change.h"
#include "compute/sql/session/role_change.h"

namespace namdb::sql {
namespace role_change_test {

using storage::ObjectKind;
using storage::Role;
using storage::Roles;

Role role(std::uint32_t id, const std::string& name, bool superuser = false) {
  Role made;
  made.id = id;
  made.name = name;
  made.superuser = made.login = superuser;
  return made;
}

SessionFacts session_of(const std::string& user) {
  SessionFacts facts;
  facts.user = facts.session_user = user;
  return facts;
}

CreateRolePlan create(const std::string& name) {
  CreateRolePlan plan;
  plan.name = name;
  return plan;
}

const storage::SecuredObject kTable{ObjectKind::table, 7, {}};
const std::vector<FoundObject> kFound = {{kTable, "t", "table"}};

GrantPlan grant_to(const std::string& name, storage::Privileges privileges) {
  GrantPlan plan;
  plan.privileges = privileges;
  plan.grantees.push_back({RoleName::Kind::named, name});
  return plan;
}

TEST_CASE("the first role comes with one of the session's user, a superuser who may log in", "[roles]") {
  const Roles none({}, {}, 3);
  const SessionFacts facts = session_of("boss");
  RoleActor actor(facts, none);
  const auto change = change_of(actor, create("clerk"), "");
  REQUIRE(change.ok());
  CHECK(change->version == 3);
  REQUIRE(change->roles.size() == 2);
  CHECK(change->roles[0].name == "boss");
  CHECK((change->roles[0].superuser && change->roles[0].login));
  CHECK(change->roles[1].name == "clerk");
  CHECK_FALSE((change->roles[1].superuser || change->roles[1].login));
  REQUIRE(actor.notices.size() == 1);
  CHECK(actor.notices[0].severity == "NOTICE");
  CHECK(actor.notices[0].message.find("role \"boss\" is a superuser from now on") == 0);

  // It may be named at once.
  CreateRolePlan group = create("group");
  group.admins.push_back({RoleName::Kind::current, {}});
  RoleActor third(facts, none);
  const auto named = change_of(third, group, "");
  REQUIRE(named.ok());
  CHECK(named->roles[0].member_of ==
        std::vector<storage::RoleMembership>{{storage::kNewRole + 1, true, storage::kNewRole}});
  group.member_of.push_back({RoleName::Kind::named, "nobody"});
  CHECK(change_of(third, group, "").status().code() == ErrorCode::undefined_object);

  // The user's own.
  RoleActor again(facts, none);
  const auto own = change_of(again, create("boss"), "verifier");
  REQUIRE(own.ok());
  REQUIRE(own->roles.size() == 1);
  CHECK((own->roles[0].superuser && own->roles[0].login));
}

TEST_CASE("a user of another session is nobody once there is a role", "[roles]") {
  const Roles roles({role(1, "boss", true)}, {}, 3);
  const SessionFacts facts = session_of("stranger");
  RoleActor actor(facts, roles);
  CHECK_FALSE(actor.is_superuser());
  CHECK(change_of(actor, create("clerk"), "").status().code() == ErrorCode::insufficient_privilege);
  CHECK(roles.privileges(actor.current, kTable) == 0);
  CHECK(roles.privileges(actor.current, {ObjectKind::routine, 0, "p"}) == storage::kExecutePrivilege);
}

TEST_CASE("a superuser is always left", "[roles]") {
  const Roles one({role(1, "boss", true), role(2, "clerk")}, {}, 3);
  const SessionFacts facts = session_of("boss");
  AlterRolePlan alter;
  alter.role = {RoleName::Kind::current, {}};
  alter.options.superuser = false;
  {
    RoleActor actor(facts, one);
    const auto change = change_of(actor, alter, "");
    CHECK(change.status().code() == ErrorCode::feature_not_supported);
    CHECK(change.status().message() == "role \"boss\" is the last superuser");
  }
  AlterRolePlan locked = alter;
  locked.options = {};
  locked.options.login = false;
  {
    RoleActor actor(facts, one);
    CHECK(change_of(actor, locked, "").status().message() == "role \"boss\" is the last superuser");
  }
  // A superuser that may not log in does not count.
  Role silent = role(2, "other", true);
  silent.login = false;
  const Roles with_silent({role(1, "boss", true), silent}, {}, 3);
  {
    RoleActor actor(facts, with_silent);
    CHECK_FALSE(change_of(actor, locked, "").ok());
    CHECK_FALSE(change_of(actor, alter, "").ok());
  }
  const Roles two({role(1, "boss", true), role(2, "other", true)}, {}, 3);
  RoleActor actor(facts, two);
  CHECK(change_of(actor, alter, "").ok());
  CHECK(change_of(actor, locked, "").ok());
  DropRolePlan drop;
  drop.roles.push_back({RoleName::Kind::named, "other"});
  const auto dropped = change_of(actor, drop, {});
  REQUIRE(dropped.ok());
  CHECK(dropped->dropped_roles == std::vector<std::uint32_t>{2});
}

TEST_CASE("CREATEROLE does not reach superusers by way of a member", "[roles]") {
  Role maker = role(2, "maker");
  maker.create_role = true;
  Role deputy = role(3, "deputy");
  deputy.member_of = {{1, false, 1}};
  const Roles roles({role(1, "boss", true), maker, deputy, role(4, "clerk")}, {}, 3);
  const SessionFacts facts = session_of("maker");
  const auto is_denied = [&](const auto& plan, auto... more) {
    RoleActor actor(facts, roles);
    const auto change = change_of(actor, plan, more...);
    return !change.ok() && change.status().code() == ErrorCode::insufficient_privilege;
  };
  for (const std::string name : {"boss", "deputy", "clerk"}) {
    INFO(name);
    const bool denied = name != "clerk";
    AlterRolePlan alter;
    alter.role = {RoleName::Kind::named, name};
    alter.options.has_password = true;
    alter.options.password = "known";
    CHECK(is_denied(alter, std::string("verifier")) == denied);
    GrantRolePlan grant;
    grant.is_grant = true;
    grant.roles = {name};
    grant.members.push_back({RoleName::Kind::current, {}});
    CHECK(is_denied(grant) == denied);
    CreateRolePlan made = create("new");
    made.member_of.push_back({RoleName::Kind::named, name});
    CHECK(is_denied(made, std::string()) == denied);
  }
}

TEST_CASE("an object without an owner belongs to the superusers, who grant in nobody's name", "[roles]") {
  const Roles roles({role(1, "boss", true), role(2, "clerk"), role(3, "owner")}, {}, 3);
  const SessionFacts facts = session_of("boss");
  RoleActor actor(facts, roles);
  CHECK(check_owner(roles, 1, kFound[0]).ok());
  CHECK(check_owner(roles, 2, kFound[0]).message() == "must be owner of table t");
  const auto granted = change_of(actor, grant_to("clerk", storage::kSelectPrivilege), kFound);
  REQUIRE(granted.ok());
  const storage::ObjectRights& rights = granted->rights.at(0);
  CHECK(rights.owner == storage::kNoRole);
  CHECK(*rights.grants == std::vector<storage::Grant>{{2, storage::kNoRole, storage::kSelectPrivilege, 0}});

  const Roles then({role(1, "boss", true), role(2, "clerk"), role(3, "owner")}, {rights}, 4);
  CHECK(then.privileges(2, kTable) == storage::kSelectPrivilege);
  CHECK(then.privileges(3, kTable) == 0);
  // It gets an owner, who has all and has granted what was granted.
  RoleActor giver(facts, then);
  ChangeOwnerPlan change;
  change.owner = {RoleName::Kind::named, "owner"};
  const auto owned = change_of(giver, change, kFound[0]);
  REQUIRE(owned.ok());
  const storage::ObjectRights& moved = owned->rights.at(0);
  const Roles last({role(1, "boss", true), role(2, "clerk"), role(3, "owner")}, {moved}, 5);
  CHECK(last.privileges(3, kTable) == storage::all_privileges(ObjectKind::table));
  CHECK(last.grant_options(3, kTable) == storage::all_privileges(ObjectKind::table));
  CHECK(last.privileges(2, kTable) == storage::kSelectPrivilege);
  CHECK(moved.grants->back().grantor == 3);
}

TEST_CASE("rights are inherited as far as roles say so", "[roles]") {
  Role member = role(2, "member");
  member.member_of = {{3, false, 1}};
  Role group = role(3, "group");
  group.member_of = {{4, true, 1}};
  storage::ObjectRights rights{9, kTable, 4, std::nullopt};
  Roles roles({role(1, "boss", true), member, group, role(4, "owner")}, {rights}, 3);
  CHECK(roles.inherits(2, 4));
  CHECK(roles.privileges(2, kTable) == storage::all_privileges(ObjectKind::table));
  CHECK(roles.has_admin_option(2, 4));
  CHECK_FALSE(roles.has_admin_option(2, 3));
  CHECK_FALSE(roles.is_named_member(1, 4));
  CHECK(roles.is_member(1, 4));
  group.inherit = false;
  roles = Roles({role(1, "boss", true), member, group, role(4, "owner")}, {rights}, 3);
  CHECK(roles.is_member(2, 4));
  CHECK_FALSE(roles.inherits(2, 4));
  CHECK(roles.privileges(2, kTable) == 0);
}

TEST_CASE("a password is kept as a verifier, and no other way", "[roles]") {
  RoleOptions options;
  CHECK(*stored_password(options) == "");
  options.has_password = true;
  CHECK(*stored_password(options) == "");
  options.password = "secret";
  const auto stored = stored_password(options);
  REQUIRE(stored.ok());
  CHECK(stored->starts_with("SCRAM-SHA-256$"));
  CHECK(stored->find("secret") == std::string::npos);
  options.password = *stored;
  CHECK(*stored_password(options) == *stored);
  options.password = "md5d41d8cd98f00b204e9800998ecf8427e";
  CHECK(stored_password(options).status().code() == ErrorCode::feature_not_supported);
}

}  // namespace role_change_test
}  // namespace namdb::sql
