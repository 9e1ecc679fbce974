// BEGIN_CREATE_TABLE: a new table in the catalog (memory/coordinator/catalog.h), which only the caller sees
// so far. Its memory on each server is another matter (prepare_table.cc). It is answered once that is logged
// (memory/coordinator/control_changes.h).
#include <utility>

#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> begin_create_table(Caller caller, const control::BeginCreateTableRequest& request,
                                         control::BeginCreateTableReply& reply) {
  const ControlChanges::Change begin = [&](Catalog& catalog) {
    auto begun = catalog.begin(caller.id, request.table(), request.owner());
    if (begun.ok()) *reply.mutable_table() = std::move(*begun);
    return begun.ok() ? Status() : begun.status();
  };
  co_return co_await caller.server.control->change(begin);
}

}  // namespace namdb::memory::handlers
