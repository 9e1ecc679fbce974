// The rights of objects as GRANT, REVOKE and changes of owners leave them, as in PostgreSQL.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "compute/api/role.h"
#include "compute/sql/plan/role_plan.h"
#include "compute/sql/session/role_actor.h"

namespace namdb::sql {

// An object as it was found for a statement.
struct FoundObject {
  storage::SecuredObject object;
  std::string name;
  std::string_view word;  // "table"
};

Result<txn::RoleChange> change_of(RoleActor& actor, const GrantPlan& grant,
                                  const std::vector<FoundObject>& objects);
Result<txn::RoleChange> change_of(RoleActor& actor, const ChangeOwnerPlan& change, const FoundObject& object);
Result<txn::RoleChange> change_of(RoleActor& actor, const ReassignOwnedPlan& reassign);
// feature_not_supported: one of the roles owns an object.
Result<txn::RoleChange> change_of(RoleActor& actor, const DropOwnedPlan& drop,
                                  const std::vector<FoundObject>& objects);

// insufficient_privilege: "must be owner of table t".
Status check_owner(const storage::Roles& roles, std::uint32_t role, const FoundObject& object);

}  // namespace namdb::sql
