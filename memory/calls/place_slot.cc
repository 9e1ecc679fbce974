// PLACE_SLOT: a slot's word in the part of the timestamp vector that is on this server (vector_part.h).
#include "memory/calls/methods.h"
#include "memory/calls/vector_part.h"

namespace namdb::memory::handlers {

Status place_slot(Caller caller, const control::PlaceSlotRequest& request,
                  control::PlaceSlotReply& /*reply*/) {
  if (caller.peer().tool) return Status(ErrorCode::insufficient_privilege, "tools run no transactions");
  return memory::place_slot(*caller.server.region, caller.server.options.vector_parts(), request);
}

}  // namespace namdb::memory::handlers
