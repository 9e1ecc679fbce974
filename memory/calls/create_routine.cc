// CREATE_ROUTINE: a new routine in the catalog (memory/coordinator/catalog.h). It is answered once that is
// logged (memory/coordinator/control_changes.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> create_routine(Caller caller, const control::CreateRoutineRequest& request,
                                     control::CreateRoutineReply& reply) {
  const ControlChanges::Change create = [&](Catalog& catalog) {
    const auto version = catalog.create_routine(request);
    if (version.ok()) reply.set_catalog_version(*version);
    return version.ok() ? Status() : version.status();
  };
  co_return co_await caller.server.control->change(create);
}

}  // namespace namdb::memory::handlers
