// DISCARD_INDEX: this server gives up the memory of a secondary index. It is free again once no peer can
// reach it.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status discard_index(Caller caller, const control::DiscardIndexRequest& request,
                     control::DiscardIndexReply& /*reply*/) {
  ServerState& server = caller.server;
  if (!server.indexes.known(request.index()) && !server.tables.has_hash_index(request.index())) {
    return Status(ErrorCode::undefined_object,
                  "this memory server has no index " + std::to_string(request.index()));
  }
  server.discard(request.index());
  return Status();
}

}  // namespace namdb::memory::handlers
