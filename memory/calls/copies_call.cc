#include "memory/calls/copies_call.h"

namespace namdb::memory {

Result<CopiesService*> copies_for(const Call& call) {
  const ServerState& server = call.caller.server;
  if (!call.caller.peer().tool)
    return Status(ErrorCode::insufficient_privilege, "only tools and memory servers have to do with copies");
  if (server.copies_service != nullptr) return server.copies_service;
  if (server.has_store) return Status(ErrorCode::cannot_connect_now, "the memory server opens, or ends");
  return Status(ErrorCode::object_not_in_prerequisite_state,
                "this memory server was started without a configuration store, and has no copies",
                "start all memory servers with --configuration-store");
}

}  // namespace namdb::memory
