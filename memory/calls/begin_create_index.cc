// BEGIN_CREATE_INDEX: a new secondary index in the catalog (memory/coordinator/catalog.h). Its memory on
// each server is another matter (prepare_index.cc). It is answered once that is logged
// (memory/coordinator/control_changes.h).
#include <utility>

#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> begin_create_index(Caller caller, const control::BeginCreateIndexRequest& request,
                                         control::BeginCreateIndexReply& reply) {
  const ControlChanges::Change begin = [&](Catalog& catalog) {
    auto begun = catalog.begin_index(caller.id, request.index());
    if (begun.ok()) *reply.mutable_index() = std::move(*begun);
    return begun.ok() ? Status() : begun.status();
  };
  co_return co_await caller.server.control->change(begin);
}

}  // namespace namdb::memory::handlers
