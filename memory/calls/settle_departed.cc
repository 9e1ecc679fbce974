// SETTLE_DEPARTED, of other servers than 0: these compute servers have ended (ended_computes.cc), so that
// the memory that they left is free (memory/reclaim/disconnected_peers.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status settle_departed(Caller caller, const control::SettleDepartedRequest& request,
                       control::SettleDepartedReply& /*reply*/) {
  caller.server.collector.settle(caller.server.disconnected_peers.settle(request));
  return Status();
}

}  // namespace namdb::memory::handlers
