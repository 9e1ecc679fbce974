// ADVANCE_INDEX: a secondary index takes the next step of its life in the catalog
// (memory/coordinator/catalog.h). It is answered once that is logged (memory/coordinator/control_changes.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> advance_index(Caller caller, const control::AdvanceIndexRequest& request,
                                    control::AdvanceIndexReply& reply) {
  const ControlChanges::Change advance = [&](Catalog& catalog) {
    const auto version = catalog.advance_index(caller.id, request);
    if (version.ok()) reply.set_catalog_version(*version);
    return version.ok() ? Status() : version.status();
  };
  co_return co_await caller.server.control->change(advance);
}

}  // namespace namdb::memory::handlers
