// PREPARE_INDEX, BUILT_INDEX, DISCARD_INDEX: the part of a secondary index on this server. Server 0's catalog
// decides which indexes exist (index_catalog.cc).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status prepare_index(Caller caller, const control::PrepareIndexRequest& request,
                     control::PrepareIndexReply& /*reply*/) {
  return caller.server.indexes.prepare(caller.id, request);
}

Status built_index(Caller caller, const control::BuiltIndexRequest& request,
                   control::BuiltIndexReply& /*reply*/) {
  return caller.server.indexes.built(caller.id, request.index());
}

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
