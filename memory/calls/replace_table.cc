// REPLACE_TABLE: a new table takes the place of another one in the catalog (memory/coordinator/catalog.h).
// It is answered once that is logged (memory/coordinator/control_changes.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> replace_table(Caller caller, const control::ReplaceTableRequest& request,
                                    control::ReplaceTableReply& reply) {
  const ControlChanges::Change replace = [&](Catalog& catalog) {
    const auto dropped = catalog.replace_table(caller.id, request.table());
    if (!dropped.ok()) return dropped.status();
    reply.set_dropped(*dropped);
    reply.set_catalog_version(catalog.version());
    return Status();
  };
  co_return co_await caller.server.control->change(replace);
}

}  // namespace namdb::memory::handlers
