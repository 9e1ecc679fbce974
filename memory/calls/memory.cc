// MEMORY: the uses of this server's region, for tools (memory/state/accounting.h).
#include "memory/calls/methods.h"
#include "memory/state/accounting.h"

namespace namdb::memory::handlers {

Status memory(Caller caller, const control::MemoryRequest& /*request*/, control::MemoryReply& reply) {
  reply = account(caller.server);
  return Status();
}

}  // namespace namdb::memory::handlers
