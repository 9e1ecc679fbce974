#include "compute/schema/roles.h"

#include "compute/cluster/catalog_cache.h"
#include "compute/cluster/role_descriptors.h"
#include "proto/control.pb.h"

namespace namdb::schema {

reactor::Task<Status> RoleChanges::make(txn::RoleChange change) {
  control::ChangeRolesRequest request;
  request.set_roles_version(change.version);
  for (const storage::Role& role : change.roles) txn::describe_role(role, request.add_roles());
  for (const std::uint32_t id : change.dropped_roles) request.add_dropped_roles(id);
  for (const storage::ObjectRights& rights : change.rights)
    txn::describe_rights(rights, request.add_rights());
  for (const std::uint32_t id : change.dropped_rights) request.add_dropped_rights(id);
  Status status = co_await state_.cluster.call(0, control::CHANGE_ROLES, request, nullptr);
  if (!status.ok()) co_return status;
  co_return co_await state_.catalog.refresh();
}

}  // namespace namdb::schema
