// INDEX_LOAD: keys of an index's part on this server, from another memory server's rows, while both open
// after a restart (memory/recovery/index_loads.h).
#include "memory/calls/methods.h"
#include "memory/recovery/index_loads.h"

namespace namdb::memory::handlers {

Status index_load(const Call& call) {
  if (!call.caller.peer().memory_server)
    return Status(ErrorCode::insufficient_privilege, "only memory servers send keys of indexes");
  IndexLoads* const loads = call.caller.server.index_loads;
  if (loads == nullptr)
    return Status(ErrorCode::cannot_connect_now, "this memory server does not wait for keys of indexes");
  return loads->receive(call.request);
}

}  // namespace namdb::memory::handlers
