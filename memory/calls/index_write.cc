// INDEX_WRITE (common/calls/index_calls.h): entries are written into secondary indexes, which memory/index
// keeps.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> index_write(Call call) {
  ServerState& server = call.caller.server;
  Status status = co_await server.indexes.write(call.request, call.reply);
  // A full region is searched for deleted rows.
  if (!status.ok() && status.code() == ErrorCode::out_of_memory) server.collector.wake();
  co_return status;
}

}  // namespace namdb::memory::handlers
