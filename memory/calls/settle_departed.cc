// ENDED_COMPUTES (server 0) and SETTLE_DEPARTED (the others): which compute servers have ended, so that the
// memory that they left is free (disconnected_peers.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status ended_computes(Caller caller, const control::EndedComputesRequest& request,
                      control::EndedComputesReply& reply) {
  for (const std::string& compute_id : request.compute_ids()) {
    if (ended(compute_id, caller.server.peers, *caller.server.slots)) reply.add_compute_ids(compute_id);
  }
  return Status();
}

Status settle_departed(Caller caller, const control::SettleDepartedRequest& request,
                       control::SettleDepartedReply& /*reply*/) {
  caller.server.collector.settle(caller.server.disconnected_peers.settle(request));
  return Status();
}

}  // namespace namdb::memory::handlers
