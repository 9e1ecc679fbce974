// GROW_TABLE: a table has other buckets in the catalog (memory/coordinator/catalog.h). It is answered once
// that is logged (memory/coordinator/control_changes.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> grow_table(Caller caller, const control::GrowTableRequest& request,
                                 control::GrowTableReply& reply) {
  const ControlChanges::Change grow = [&](Catalog& catalog) {
    Status status = catalog.grow(request);
    reply.set_catalog_version(catalog.version());
    return status;
  };
  co_return co_await caller.server.control->change(grow);
}

}  // namespace namdb::memory::handlers
