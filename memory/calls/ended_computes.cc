// ENDED_COMPUTES, of server 0: which of these compute servers have ended
// (memory/reclaim/disconnected_peers.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status ended_computes(Caller caller, const control::EndedComputesRequest& request,
                      control::EndedComputesReply& reply) {
  for (const std::string& compute_id : request.compute_ids()) {
    if (ended(compute_id, caller.server.peers, *caller.server.slots)) reply.add_compute_ids(compute_id);
  }
  return Status();
}

}  // namespace namdb::memory::handlers
