// BEGIN_CREATE_TABLE, FINISH_CREATE_TABLE, DROP_TABLE, GROW_TABLE, ALTER_TABLE, REPLACE_TABLE: tables in the
// catalog (memory/coordinator/catalog.h). Their memory on each server is another matter (prepare_table.cc).
// Each change is answered once it is logged (memory/coordinator/control_changes.h).
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

reactor::Task<Status> grow_table(Caller caller, const control::GrowTableRequest& request,
                                 control::GrowTableReply& reply) {
  const ControlChanges::Change grow = [&](Catalog& catalog) {
    Status status = catalog.grow(request);
    reply.set_catalog_version(catalog.version());
    return status;
  };
  co_return co_await caller.server.control->change(grow);
}

reactor::Task<Status> alter_table(Caller caller, const control::AlterTableRequest& request,
                                  control::AlterTableReply& reply) {
  const ControlChanges::Change alter = [&](Catalog& catalog) {
    const auto version = catalog.alter(request);
    if (version.ok()) reply.set_catalog_version(*version);
    return version.ok() ? Status() : version.status();
  };
  co_return co_await caller.server.control->change(alter);
}

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
