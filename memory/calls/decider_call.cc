#include "memory/calls/decider_call.h"

namespace namdb::memory {

Status check_decider(const Caller& caller) {
  if (caller.peer().memory_server) return Status();
  return Status(ErrorCode::insufficient_privilege, "only memory servers decide commits");
}

}  // namespace namdb::memory
