// The roles as statements about them leave them, as in PostgreSQL: first the user's rights are checked.
#pragma once

#include <map>
#include <string>

#include "common/base/error.h"
#include "compute/api/role.h"
#include "compute/sql/plan/role_plan.h"
#include "compute/sql/session/role_actor.h"

namespace namdb::sql {

// A password as it is kept, which takes milliseconds to make: once for all tries of a change. Empty: none.
// feature_not_supported for what PostgreSQL keeps as an MD5 sum.
Result<std::string> stored_password(const RoleOptions& options);

// `password`: of the options, if they have one. The user's own role is created, too, if there is none at all.
Result<txn::RoleChange> change_of(RoleActor& actor, const CreateRolePlan& create,
                                  const std::string& password);
Result<txn::RoleChange> change_of(RoleActor& actor, const AlterRolePlan& alter, const std::string& password);
Result<txn::RoleChange> change_of(RoleActor& actor, const RenameRolePlan& rename);
Result<txn::RoleChange> change_of(RoleActor& actor, const GrantRolePlan& grant);
// `objects`: those that have rights, by their texts for people: "table t".
Result<txn::RoleChange> change_of(RoleActor& actor, const DropRolePlan& drop,
                                  const std::map<storage::SecuredObject, std::string>& objects);

}  // namespace namdb::sql
