// FINISH_CREATE_TABLE: a new table of the catalog (memory/coordinator/catalog.h) is there for all, or is
// abandoned. It is answered once that is logged (memory/coordinator/control_changes.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> finish_create_table(Caller caller, const control::FinishCreateTableRequest& request,
                                          control::FinishCreateTableReply& reply) {
  const ControlChanges::Change finish = [&](Catalog& catalog) {
    if (request.abandon()) {
      Status status = catalog.abandon(caller.id, request.table().id());
      reply.set_catalog_version(catalog.version());
      return status;
    }
    const auto version = catalog.finish(caller.id, request);
    if (!version.ok()) return version.status();
    reply.set_catalog_version(*version);
    return Status();
  };
  Status status = co_await caller.server.control->change(finish);
  if (status.ok() && request.abandon()) caller.server.discard(request.table().id());
  co_return status;
}

}  // namespace namdb::memory::handlers
