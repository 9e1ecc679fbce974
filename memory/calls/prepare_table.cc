// PREPARE_TABLE: a table's memory on this server. Server 0's catalog decides which tables exist
// (finish_create_table.cc).
#include <utility>

#include "memory/calls/methods.h"

namespace namdb::memory::handlers {
namespace {

// The log of this server has the table's rows, and after a restart nothing else says what they look like.
reactor::Task<Status> log_table(ServerState& server, control::TableDescriptor table) {
  control::TableRecord record;
  record.set_format(kControlFormat);
  record.set_written_by(server.options.version);
  *record.mutable_table() = std::move(table);
  const auto appended = co_await server.table_log->append(ControlRecord::table, record.SerializeAsString(),
                                                          ControlLog::Urgency::ordinary);
  if (!appended.ok()) co_return appended.status();
  co_return co_await server.table_log->flush(*appended);
}

}  // namespace

reactor::Task<Status> prepare_table(Caller caller, const control::PrepareTableRequest& request,
                                    control::PrepareTableReply& reply) {
  ServerState& server = caller.server;
  const Result<std::uint64_t> base = co_await server.tables.prepare(request.table());
  if (!base.ok()) co_return base.status();
  if (server.table_log != nullptr) {
    Status logged = co_await log_table(server, request.table());
    if (!logged.ok()) {
      server.discard(request.table().id());
      co_return logged;
    }
  }
  reply.set_bucket_base(*base);
  co_return Status();
}

}  // namespace namdb::memory::handlers
