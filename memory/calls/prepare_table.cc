// PREPARE_TABLE, DISCARD_TABLE, LIST_TABLES: a table's memory on this server. Server 0's catalog decides
// which tables exist (table_catalog.cc).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> prepare_table(Caller caller, const control::PrepareTableRequest& request,
                                    control::PrepareTableReply& reply) {
  const Result<std::uint64_t> base = co_await caller.server.tables.prepare(request.table());
  if (!base.ok()) co_return base.status();
  reply.set_bucket_base(*base);
  co_return Status();
}

Status discard_table(Caller caller, const control::DiscardTableRequest& request,
                     control::DiscardTableReply& /*reply*/) {
  if (!caller.server.tables.all().contains(request.table())) {
    return Status(ErrorCode::undefined_table,
                  "this memory server has no table " + std::to_string(request.table()));
  }
  caller.server.discard(request.table());
  return Status();
}

Status list_tables(Caller caller, const control::ListTablesRequest& /*request*/,
                   control::ListTablesReply& reply) {
  for (const auto& [id, table] : caller.server.tables.all()) {
    if (!table->discarded) reply.add_tables(id);
  }
  return Status();
}

}  // namespace namdb::memory::handlers
