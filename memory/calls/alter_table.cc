// ALTER_TABLE: a table changes in the catalog (memory/coordinator/catalog.h). It is answered once that is
// logged (memory/coordinator/control_changes.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> alter_table(Caller caller, const control::AlterTableRequest& request,
                                  control::AlterTableReply& reply) {
  const ControlChanges::Change alter = [&](Catalog& catalog) {
    const auto version = catalog.alter(request);
    if (version.ok()) reply.set_catalog_version(*version);
    return version.ok() ? Status() : version.status();
  };
  co_return co_await caller.server.control->change(alter);
}

}  // namespace namdb::memory::handlers
