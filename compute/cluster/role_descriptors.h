// Roles and rights as messages of the control plane, and back.
#pragma once

#include <cstdint>
#include <map>

#include "common/base/error.h"
#include "compute/api/role.h"
#include "proto/control_types.h"

namespace namdb::txn {

// The catalog's entries of roles and rights, by their ids.
struct RoleEntries {
  std::map<std::uint32_t, storage::Role> roles;
  std::map<std::uint32_t, storage::ObjectRights> rights;
};

// These three: outside input, error corrupt_data. In the place of the entry with the id.
Status add_role(const control::RoleDescriptor& descriptor, RoleEntries* entries);
Status add_rights(const control::ObjectRights& descriptor, RoleEntries* entries);
Result<storage::RolesRef> roles_of(const RoleEntries& entries, std::uint64_t version);
void describe_role(const storage::Role& role, control::RoleDescriptor* descriptor);
void describe_rights(const storage::ObjectRights& rights, control::ObjectRights* descriptor);

}  // namespace namdb::txn
