// DROP_TABLE: a table leaves the catalog (memory/coordinator/catalog.h). Its memory on each server is
// another matter (discard_table.cc). It is answered once that is logged
// (memory/coordinator/control_changes.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> drop_table(Caller caller, const control::DropTableRequest& request,
                                 control::DropTableReply& reply) {
  const ControlChanges::Change drop = [&](Catalog& catalog) {
    const auto table = catalog.drop(request.name());
    if (!table.ok()) return table.status();
    reply.set_table(*table);
    return Status();
  };
  co_return co_await caller.server.control->change(drop);
}

}  // namespace namdb::memory::handlers
