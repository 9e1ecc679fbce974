// BEGIN_CREATE_TABLE, FINISH_CREATE_TABLE, DROP_TABLE, GROW_TABLE: tables in the catalog
// (memory/coordinator/catalog.h). Their memory on each server is another matter (prepare_table.cc).
#include <utility>

#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status begin_create_table(Caller caller, const control::BeginCreateTableRequest& request,
                          control::BeginCreateTableReply& reply) {
  auto begun = caller.server.catalog->begin(caller.id, request.table());
  if (begun.ok()) *reply.mutable_table() = std::move(*begun);
  return begun.ok() ? Status() : begun.status();
}

Status finish_create_table(Caller caller, const control::FinishCreateTableRequest& request,
                           control::FinishCreateTableReply& reply) {
  Catalog& catalog = *caller.server.catalog;
  if (request.abandon()) {
    Status status = catalog.abandon(caller.id, request.table().id());
    if (status.ok()) caller.server.discard(request.table().id());
    reply.set_catalog_version(catalog.version());
    return status;
  }
  const auto version = catalog.finish(caller.id, request);
  if (!version.ok()) return version.status();
  reply.set_catalog_version(*version);
  return Status();
}

Status drop_table(Caller caller, const control::DropTableRequest& request, control::DropTableReply& reply) {
  const auto table = caller.server.catalog->drop(request.name());
  if (!table.ok()) return table.status();
  reply.set_table(*table);
  return Status();
}

Status grow_table(Caller caller, const control::GrowTableRequest& request, control::GrowTableReply& reply) {
  Status status = caller.server.catalog->grow(request);
  reply.set_catalog_version(caller.server.catalog->version());
  return status;
}

}  // namespace namdb::memory::handlers
