// LOCK (common/calls/lock_calls.h): waits for locks of records (memory/state/lock_waiters.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> lock(Call call) {
  ServerState& server = call.caller.server;
  return server.lock_waiters.lock(*server.region, server.server_fabric->loopback(), call.request, call.reply);
}

}  // namespace namdb::memory::handlers
