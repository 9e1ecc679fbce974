#include "memory/calls/departure_call.h"

namespace namdb::memory {

Status check_mover(const Call& call) {
  if (call.caller.peer().tool) return Status();
  return Status(ErrorCode::insufficient_privilege, "only tools and memory servers move regions");
}

Result<DepartureService*> departure_for(const Call& call) {
  if (Status status = check_mover(call); !status.ok()) return status;
  if (call.caller.server.departure != nullptr) return call.caller.server.departure;
  if (call.caller.server.options.durability == Durability::flushed)
    return Status(ErrorCode::cannot_connect_now, "the memory server opens, or ends");
  return Status(ErrorCode::object_not_in_prerequisite_state, "this memory server keeps no data on disk",
                "its database was created with --durability memory");
}

}  // namespace namdb::memory
