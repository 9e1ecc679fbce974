// FENCE: answered when every channel of the compute server is destroyed and drained.
#include "memory/calls/methods.h"
#include "memory/deciding/decide.h"

namespace namdb::memory::handlers {

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

}  // namespace namdb::memory::handlers
