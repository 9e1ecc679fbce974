// INDEX_WRITE, INDEX_SETTLE, INDEX_DOUBTS, INDEX_SEEK (common/calls/index_calls.h): entries of secondary
// indexes, which memory/index keeps.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> index_write(Call call) {
  ServerState& server = call.caller.server;
  Status status = co_await server.indexes.write(call.request, call.reply);
  // A full region is searched for deleted rows.
  if (!status.ok() && status.code() == ErrorCode::out_of_memory) server.collector.wake();
  co_return status;
}

Status index_settle(const Call& call) {
  Status status = call.caller.server.indexes.settle(call.request);
  call.caller.server.collector.wake();
  return status;
}

Status index_doubts(const Call& call) {
  return call.caller.server.indexes.take_doubts(call.request, call.reply);
}

Status index_seek(const Call& call) {
  return call.caller.server.indexes.seek(call.request, call.reply);
}

}  // namespace namdb::memory::handlers
