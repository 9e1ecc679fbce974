// DRAIN_COMPUTE: a compute server is to end. Memory server 0 tells it in its replies to heartbeats.
#include <algorithm>

#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status drain_compute(Caller caller, const control::DrainComputeRequest& request,
                     control::DrainComputeReply& /*reply*/) {
  if (!caller.peer().tool)
    return Status(ErrorCode::insufficient_privilege, "only tools may end a compute server");
  Peers& peers = caller.server.peers;
  const auto is_meant = [&request](const auto& entry) {
    return entry.second.process.id != 0 && entry.second.process.id == request.process();
  };
  if (!std::ranges::any_of(peers.all(), is_meant))
    return Status(ErrorCode::undefined_object, "no worker of that compute server is connected");
  peers.drain(request.process());
  return Status();
}

}  // namespace namdb::memory::handlers
