// Roles and rights as messages of the control plane, and back.
#pragma once

#include "common/base/error.h"
#include "compute/api/role.h"
#include "proto/control_types.h"

namespace namdb::txn {

// Outside input: error corrupt_data.
Result<storage::RolesRef> roles_from_reply(const control::GetCatalogReply& reply);
void describe_role(const storage::Role& role, control::RoleDescriptor* descriptor);
void describe_rights(const storage::ObjectRights& rights, control::ObjectRights* descriptor);

}  // namespace namdb::txn
