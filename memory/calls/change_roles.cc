// CHANGE_ROLES: roles and rights change in the catalog (memory/coordinator/catalog.h). It is answered once
// that is logged (memory/coordinator/control_changes.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> change_roles(Caller caller, const control::ChangeRolesRequest& request,
                                   control::ChangeRolesReply& reply) {
  const ControlChanges::Change change = [&](Catalog& catalog) {
    const auto version = catalog.change_roles(request);
    if (version.ok()) reply.set_catalog_version(*version);
    return version.ok() ? Status() : version.status();
  };
  co_return co_await caller.server.control->change(change);
}

}  // namespace namdb::memory::handlers
