#include "compute/sql/session/session_rights.h"

#include <string>
#include <utility>

#include "compute/sql/session/grant_change.h"
#include "compute/sql/session/role_actor.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {

using reactor::Task;

namespace {

constexpr std::string_view kRole = "role";
constexpr std::string_view kAuthorization = "session_authorization";

Status not_a_role(const std::string& name) {
  return Status(ErrorCode::invalid_parameter_value, "role \"" + name + "\" does not exist");
}

}  // namespace

void SessionRights::follow_roles() {
  const std::uint64_t version = engine_.catalog_version();
  if (version == roles_seen_ && facts_.roles != nullptr) return;
  roles_seen_ = version;
  storage::RolesRef roles = engine_.cached_roles();
  if (roles == facts_.roles) return;
  facts_.roles = std::move(roles);
  apply_identity();
}

void SessionRights::bind_role(const std::string& name) {
  const std::uint32_t role = role_of_user(*facts_.roles, name);
  if (role != storage::kUnknownRole) bound_roles_.try_emplace(name, role);
}

std::uint32_t SessionRights::bound_role(const std::string& name) const {
  const std::uint32_t role = role_of_user(*facts_.roles, name);
  const auto bound = bound_roles_.find(name);
  return bound == bound_roles_.end() || bound->second == role ? role : storage::kUnknownRole;
}

void SessionRights::apply_identity() {
  facts_.session_user = settings_.get(kAuthorization).value_or(authenticated_user_);
  const std::string role = settings_.get(kRole).value_or("none");
  facts_.user = role == "none" ? facts_.session_user : role;
  bind_role(authenticated_user_);
  bind_role(facts_.session_user);
  bind_role(facts_.user);
  facts_.role = bound_role(facts_.user);
  facts_.session_role = bound_role(facts_.session_user);
  is_superuser_ = facts_.is_superuser();
  ++rights_epoch_;
  known_rights_.clear();
  identity_sequences_.clear();
}

Status SessionRights::check_identity(const SetPlan& plan) const {
  const storage::Roles& roles = *facts_.roles;
  if (!plan.value) return {};
  if (plan.name == kRole) {
    if (*plan.value == "none") return {};
    const storage::Role* const role = roles.find(*plan.value);
    if (role == nullptr) return not_a_role(*plan.value);
    if (roles.is_member(facts_.session_role, role->id)) return {};
    return role_denied("permission denied to set role \"" + role->name + "\"");
  }
  if (roles.empty() && *plan.value == authenticated_user_) return {};
  const storage::Role* const user = roles.find(*plan.value);
  if (user == nullptr) return not_a_role(*plan.value);
  const std::uint32_t authenticated = bound_role(authenticated_user_);
  if (user->id == authenticated || roles.is_superuser(authenticated)) return {};
  return role_denied("permission denied to set session authorization");
}

bool SessionRights::names_identity(std::string_view setting) {
  return setting == kRole || setting == kAuthorization;
}

void SessionRights::set_identity(SetPlan& plan) {
  if (!plan.value) plan.value = plan.name == kRole ? "none" : authenticated_user_;
  // From now on it is the role that has that name now, but the role that logged in stays the same one.
  if (*plan.value != authenticated_user_) bound_roles_.erase(*plan.value);
  const auto scope = plan.local ? Settings::Scope::transaction : Settings::Scope::session;
  settings_.set_identity(plan.name, *plan.value, scope);
  // A new session user begins without SET ROLE.
  if (plan.name == kAuthorization) settings_.set_identity(kRole, "none", scope);
  apply_identity();
}

// --- checks ---

storage::Privileges SessionRights::privileges_of(const storage::SecuredObject& object) {
  if (object.kind != storage::ObjectKind::table) return facts_.roles->privileges(facts_.role, object);
  const auto [known, is_new] = known_rights_.try_emplace(object.table, 0);
  if (is_new) known->second = facts_.roles->privileges(facts_.role, object);
  return known->second;
}

// A view without an owner belongs to the superusers.
storage::Privileges SessionRights::privileges_of_owner(const std::string& view,
                                                       const storage::SecuredObject& object) const {
  const std::uint32_t owner = facts_.roles->owner_of({storage::ObjectKind::view, 0, view});
  return owner == storage::kNoRole ? storage::all_privileges(object.kind)
                                   : facts_.roles->privileges(owner, object);
}

Status SessionRights::check_known_rights(std::span<const RequiredRight> rights) {
  if (is_superuser_) return {};
  for (const RequiredRight& right : rights) {
    const storage::Privileges held =
        (right.through_view.empty() ? privileges_of(right.object)
                                    : privileges_of_owner(right.through_view, right.object)) &
        right.privileges;
    if (held == right.privileges || (right.one_is_enough && held != 0)) continue;
    return Status(ErrorCode::insufficient_privilege,
                  "permission denied for " + std::string(right.kind) + " " + right.name);
  }
  return {};
}

Task<Status> SessionRights::check_rights(std::span<const RequiredRight> rights) {
  Status status = check_known_rights(rights);
  if (status.ok()) co_return status;
  const auto roles = co_await engine_.roles();
  if (!roles.ok()) co_return roles.status();
  follow_roles();
  co_return check_known_rights(rights);
}

Task<Status> SessionRights::check_rights(const Plan* plan, PreparedStatement* prepared) {
  // Those of the statement that is prepared are checked when it is executed.
  Status status;
  if (plan->as<PreparePlan>() == nullptr) status = co_await check_rights(plan->rights);
  if (status.ok() && prepared->plan.get() == plan) prepared->rights_epoch = rights_epoch_;
  checked_epoch_ = rights_epoch_;
  co_return status;
}

bool SessionRights::rights_are_known(const Plan& plan, const PreparedStatement& prepared) {
  follow_roles();
  checked_epoch_ = rights_epoch_;
  return prepared.rights_epoch == rights_epoch_ && prepared.plan.get() == &plan;
}

Status SessionRights::check_rights_again(const Plan& plan) {
  follow_roles();
  if (checked_epoch_ == rights_epoch_) return {};
  checked_epoch_ = rights_epoch_;
  return check_known_rights(plan.rights);
}

Status SessionRights::check_object_owner(const storage::SecuredObject& object, std::string_view word,
                                         const std::string& name) {
  follow_roles();
  if (is_superuser_) return {};
  return check_owner(*facts_.roles, facts_.role, {object, name, word});
}

Status SessionRights::check_table_owner(const storage::Table& table) {
  return check_object_owner({storage::ObjectKind::table, table.id, {}}, "table", table.name);
}

Status SessionRights::check_may_create() {
  follow_roles();
  const RequiredRight right{
      {storage::ObjectKind::schema, 0, "public"}, storage::kCreatePrivilege, false, "public", "schema"};
  return check_known_rights(std::span(&right, 1));
}

Task<Status> SessionRights::check_sequence(std::string_view function, std::string name) {
  follow_roles();
  if (is_superuser_ || (function == "nextval" && identity_sequences_.contains(name))) co_return Status();
  const storage::Privileges wanted =
      function == "nextval"  ? storage::kUsagePrivilege | storage::kUpdatePrivilege
      : function == "setval" ? storage::kUpdatePrivilege
                             : storage::kUsagePrivilege | storage::kSelectPrivilege;
  const RequiredRight right{{storage::ObjectKind::sequence, 0, name}, wanted, true, name, "sequence"};
  Status status = co_await check_rights(std::span(&right, 1));
  if (status.ok() || function != "nextval") co_return status;
  // Users who may insert rows get numbers for GENERATED AS IDENTITY.
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  for (const storage::TableRef& table : *tables) {
    for (const layout::Column& column : table->schema.columns()) {
      const auto filled = sequence_default_of(column);
      if (!filled || !filled->is_identity() || filled->name != name) continue;
      const storage::Privileges held = privileges_of({storage::ObjectKind::table, table->id, {}});
      if ((held & storage::kInsertPrivilege) == 0) continue;
      identity_sequences_.insert(std::move(name));
      co_return Status();
    }
  }
  co_return status;
}

std::uint32_t SessionRights::owner_of_new() {
  follow_roles();
  return facts_.role == storage::kUnknownRole ? storage::kNoRole : facts_.role;
}

}  // namespace namdb::sql
