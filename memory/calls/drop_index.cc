// DROP_INDEX: a secondary index leaves the catalog (memory/coordinator/catalog.h). Its memory on each server
// is another matter (discard_index.cc). It is answered once that is logged
// (memory/coordinator/control_changes.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> drop_index(Caller caller, const control::DropIndexRequest& request,
                                 control::DropIndexReply& reply) {
  const ControlChanges::Change drop = [&](Catalog& catalog) {
    const auto index = catalog.drop_index(request.name(), request.of_constraint());
    if (!index.ok()) return index.status();
    reply.set_index(*index);
    return Status();
  };
  co_return co_await caller.server.control->change(drop);
}

}  // namespace namdb::memory::handlers
