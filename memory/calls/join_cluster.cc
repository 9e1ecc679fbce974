// JOIN_CLUSTER: a worker reports the epochs and addresses of all memory servers that it is connected to, or
// which of them are away.
#include <set>
#include <utility>

#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status join_cluster(Caller caller, const control::JoinClusterRequest& request,
                    control::JoinClusterReply& /*reply*/) {
  if (caller.peer().tool) return Status(ErrorCode::insufficient_privilege, "tools join no cluster");
  Peer& peer = caller.peer();
  std::set<std::uint32_t> without;
  for (int server = 1; server < request.epochs_size(); ++server) {
    if (request.epochs(server) == 0) without.insert(static_cast<std::uint32_t>(server));
  }
  if (!caller.server.admits(without)) return database_opens();
  Status status = caller.server.identity.join({request.epochs().begin(), request.epochs().end()});
  if (status.ok()) {
    peer.joined = true;
    peer.without = std::move(without);
  }
  // Servers that open together know each other.
  if (!status.ok() || request.addresses().empty() || caller.server.options.opens_together()) return status;
  return caller.server.links.learn({request.addresses().begin(), request.addresses().end()},
                                   {request.epochs().begin(), request.epochs().end()});
}

}  // namespace namdb::memory::handlers
