// JOIN_CLUSTER: a worker reports the epochs and addresses of all memory servers that it is connected to.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status join_cluster(Caller caller, const control::JoinClusterRequest& request,
                    control::JoinClusterReply& /*reply*/) {
  if (caller.peer().tool) return Status(ErrorCode::insufficient_privilege, "tools join no cluster");
  if (!caller.server.admits_workers) return database_opens();
  Status status = caller.server.identity.join({request.epochs().begin(), request.epochs().end()});
  // Servers that open together know each other.
  if (!status.ok() || request.addresses().empty() || caller.server.options.opens_together()) return status;
  return caller.server.links.learn({request.addresses().begin(), request.addresses().end()},
                                   {request.epochs().begin(), request.epochs().end()});
}

}  // namespace namdb::memory::handlers
