// FENCE: answered when every channel of the compute server is destroyed and drained.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> fence(Caller caller, const control::FenceRequest& request,
                            control::FenceReply& /*reply*/) {
  ServerState& server = caller.server;
  const std::string& compute_id = request.compute_id();
  if (compute_id.size() != Peers::kComputeId_bytes) {
    co_return Status(ErrorCode::protocol_violation, "a compute server's id has 16 bytes");
  }
  const std::string own_id = caller.peer().compute_id;
  if (own_id == compute_id) {
    co_return Status(ErrorCode::protocol_violation, "a compute server cannot fence itself");
  }
  if (!server.peers.fenced(compute_id)) server.notice("a compute server is fenced on request");
  server.start_fence(compute_id);
  // Two compute servers may fence each other. The transport waits for the calls of the peer that it fences,
  // so this call ends when its own caller is fenced.
  while (!server.peers.of(compute_id).empty()) {
    if (server.stopping) co_return Status(ErrorCode::admin_shutdown, "the memory server is shutting down");
    if (server.peers.fenced(own_id)) {
      co_return Status(ErrorCode::fenced, "this compute server was itself declared dead");
    }
    co_await server.fenced.wait();
  }
  co_return Status();
}

}  // namespace namdb::memory::handlers
