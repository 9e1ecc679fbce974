// JOIN_CLUSTER: a worker reports the epochs and addresses of all memory servers that it is connected to.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status join_cluster(Caller caller, const control::JoinClusterRequest& request,
                    control::JoinClusterReply& /*reply*/) {
  if (caller.peer().tool) return Status(ErrorCode::insufficient_privilege, "tools join no cluster");
  Status status = caller.server.identity.join({request.epochs().begin(), request.epochs().end()});
  if (!status.ok() || request.addresses().empty()) return status;
  return caller.server.links.learn({request.addresses().begin(), request.addresses().end()},
                                   {request.epochs().begin(), request.epochs().end()});
}

}  // namespace namdb::memory::handlers
