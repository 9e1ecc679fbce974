#include "memory/calls/opening_call.h"

namespace namdb::memory {

Result<OpeningService*> opening_service_for(const Caller& caller) {
  if (!caller.peer().memory_server)
    return Status(ErrorCode::insufficient_privilege, "only memory server 0 opens the database");
  if (caller.server.opening_service == nullptr)
    return Status(ErrorCode::object_not_in_prerequisite_state,
                  "this memory server does not open together with others");
  return caller.server.opening_service;
}

}  // namespace namdb::memory
