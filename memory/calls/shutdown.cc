// SHUTDOWN: the process ends once its peers have been told.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status shutdown(Caller caller, const control::ShutdownRequest& /*request*/,
                control::ShutdownReply& /*reply*/) {
  if (!caller.peer().tool) {
    return Status(ErrorCode::insufficient_privilege, "only tools may shut a memory server down");
  }
  caller.server.request_shutdown();
  return Status();
}

}  // namespace namdb::memory::handlers
