// BEGIN_CREATE_INDEX, ADVANCE_INDEX, DROP_INDEX: secondary indexes in the catalog
// (memory/coordinator/catalog.h). Their memory on each server is another matter (prepare_index.cc).
#include <utility>

#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status begin_create_index(Caller caller, const control::BeginCreateIndexRequest& request,
                          control::BeginCreateIndexReply& reply) {
  auto begun = caller.server.catalog->begin_index(caller.id, request.index());
  if (begun.ok()) *reply.mutable_index() = std::move(*begun);
  return begun.ok() ? Status() : begun.status();
}

Status advance_index(Caller caller, const control::AdvanceIndexRequest& request,
                     control::AdvanceIndexReply& reply) {
  const auto version = caller.server.catalog->advance_index(caller.id, request);
  if (version.ok()) reply.set_catalog_version(*version);
  return version.ok() ? Status() : version.status();
}

Status drop_index(Caller caller, const control::DropIndexRequest& request, control::DropIndexReply& reply) {
  const auto index = caller.server.catalog->drop_index(request.name());
  if (!index.ok()) return index.status();
  reply.set_index(*index);
  return Status();
}

}  // namespace namdb::memory::handlers
