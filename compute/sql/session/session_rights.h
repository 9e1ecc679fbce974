// The user and the role of a session, and their rights. They are kept in the session's facts, as the roles
// are that the worker knows. A session whose user was renamed or dropped has no role, only the rights of
// PUBLIC; also when another role gets the name.
//
// Belongs to its session.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/role.h"
#include "compute/sql/execute/portal.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/system/settings.h"

namespace namdb::sql {

class SessionRights {
 public:
  // All outlive it. The facts have the user who has logged in.
  SessionRights(txn::Engine& engine, SessionFacts& facts, Settings& settings)
      : engine_(engine), facts_(facts), settings_(settings), authenticated_user_(facts.user) {}

  const std::string& authenticated_user() const { return authenticated_user_; }
  bool is_superuser() const { return is_superuser_; }
  std::uint32_t owner_of_new();

  // Takes over the roles as the worker knows them now.
  void follow_roles();
  // The session's user and role become those of its settings.
  void apply_identity();
  static bool names_identity(std::string_view setting);
  Status check_identity(const SetPlan& plan) const;
  // SET, after that check: receives the value that RESET gives.
  void set_identity(SetPlan& plan);

  // A right that is missing is looked for in the catalog of now: another server may have granted it.
  // insufficient_privilege.
  reactor::Task<Status> check_rights(std::span<const RequiredRight> rights);
  reactor::Task<Status> check_rights(const Plan* plan, PreparedStatement* prepared);
  // Whether that check is known to find nothing, as it did last time.
  bool rights_are_known(const Plan& plan, const PreparedStatement& prepared);
  // Before a commit: nothing, unless roles have changed since the statement began.
  Status check_rights_again(const Plan& plan);
  Status check_object_owner(const storage::SecuredObject& object, std::string_view word,
                            const std::string& name);
  Status check_table_owner(const storage::Table& table);
  // Whether the session may make objects.
  Status check_may_create();
  // For nextval() and its like.
  reactor::Task<Status> check_sequence(std::string_view function, std::string name);

 private:
  // A name means the role that had it when the session first knew it; another one of that name is unknown.
  void bind_role(const std::string& name);
  std::uint32_t bound_role(const std::string& name) const;
  storage::Privileges privileges_of(const storage::SecuredObject& object);
  // The privileges of the view's owner.
  storage::Privileges privileges_of_owner(const std::string& view,
                                          const storage::SecuredObject& object) const;
  Status check_known_rights(std::span<const RequiredRight> rights);

  txn::Engine& engine_;
  SessionFacts& facts_;
  Settings& settings_;
  const std::string authenticated_user_;
  std::map<std::string, std::uint32_t> bound_roles_;  // the ids of roles that the session has been
  // Of the roles in facts_: the catalog that they were taken from; a number that changes whenever a check of
  // rights may have another result; and the rights that were asked for since, by table.
  std::uint64_t roles_seen_ = 0;
  std::uint64_t rights_epoch_ = 1;
  absl::flat_hash_map<std::uint32_t, storage::Privileges> known_rights_;
  std::set<std::string> identity_sequences_;  // that the session may use because of their tables
  std::uint64_t checked_epoch_ = 0;           // in which the statement's rights were checked
  bool is_superuser_ = true;
};

}  // namespace namdb::sql
