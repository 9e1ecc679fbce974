// DROP_ROUTINE: a routine leaves the catalog (memory/coordinator/catalog.h). It is answered once that is
// logged (memory/coordinator/control_changes.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> drop_routine(Caller caller, const control::DropRoutineRequest& request,
                                   control::DropRoutineReply& reply) {
  const ControlChanges::Change drop = [&](Catalog& catalog) {
    const auto version = catalog.drop_routine(request);
    if (version.ok()) reply.set_catalog_version(*version);
    return version.ok() ? Status() : version.status();
  };
  co_return co_await caller.server.control->change(drop);
}

}  // namespace namdb::memory::handlers
