// BEGIN_CREATE_INDEX, ADVANCE_INDEX, DROP_INDEX: secondary indexes in the catalog
// (memory/coordinator/catalog.h). Their memory on each server is another matter (prepare_index.cc). Each
// change is answered once it is logged (memory/coordinator/control_changes.h).
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

reactor::Task<Status> advance_index(Caller caller, const control::AdvanceIndexRequest& request,
                                    control::AdvanceIndexReply& reply) {
  const ControlChanges::Change advance = [&](Catalog& catalog) {
    const auto version = catalog.advance_index(caller.id, request);
    if (version.ok()) reply.set_catalog_version(*version);
    return version.ok() ? Status() : version.status();
  };
  co_return co_await caller.server.control->change(advance);
}

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
