// INDEX_LOAD: keys of an index's part on this server, from another memory server's rows, while both open
// after a restart (memory/recovery/index_loads.h).
#include "memory/calls/methods.h"
#include "memory/recovery/index_loads.h"

namespace namdb::memory::handlers {

Status index_load(const Call& call) {
  IndexLoads* const loads = call.caller.server.index_loads;
  if (loads == nullptr)
    return Status(ErrorCode::protocol_violation, "this memory server is open: its indexes have their keys");
  return loads->receive(call.request);
}

}  // namespace namdb::memory::handlers
