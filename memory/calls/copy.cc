// COPY (common/placement/follow_calls.h), at a host that has its region already.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status copy(const Call& call) {
  if (!call.caller.peer().tool)
    return Status(ErrorCode::insufficient_privilege, "only tools give orders about copies");
  return Status(
      ErrorCode::object_not_in_prerequisite_state,
      "this host has the region of memory server " + std::to_string(call.caller.server.options.server_id));
}

}  // namespace namdb::memory::handlers
