// FENCE: answered when every channel of the compute server is destroyed and drained.
#include "memory/calls/decide.h"
#include "memory/calls/methods.h"

namespace namdb::memory {

reactor::Task<Status> fence_here(ServerState* server, std::string compute_id) {
  server->start_fence(compute_id);
  while (!server->peers.of(compute_id).empty()) {
    if (server->stopping) co_return Status(ErrorCode::admin_shutdown, "the memory server is shutting down");
    co_await server->fenced.wait();
  }
  co_return Status();
}

namespace handlers {

reactor::Task<Status> fence(Caller caller, const control::FenceRequest& request,
                            control::FenceReply& /*reply*/) {
  ServerState& server = caller.server;
  if (!caller.peer().memory_server)
    co_return Status(ErrorCode::insufficient_privilege, "only memory servers fence compute servers");
  if (request.compute_id().size() != Peers::kComputeId_bytes)
    co_return Status(ErrorCode::protocol_violation, "a compute server's id has 16 bytes");
  if (request.compute_id() == caller.peer().compute_id)
    co_return Status(ErrorCode::protocol_violation, "a memory server cannot fence itself");
  if (!server.peers.of(request.compute_id()).empty()) server.notice("a compute server is fenced on request");
  co_return co_await fence_here(&server, request.compute_id());
}

}  // namespace handlers
}  // namespace namdb::memory
