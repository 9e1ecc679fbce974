// PLACE_SLOT: a slot's word in the part of the timestamp vector that is on this server
// (memory/region/vector_part.h).
#include "memory/calls/methods.h"
#include "memory/region/vector_part.h"

namespace namdb::memory::handlers {

Status place_slot(Caller caller, const control::PlaceSlotRequest& request, control::PlaceSlotReply& reply) {
  const Peer& peer = caller.peer();
  if (peer.tool && !peer.memory_server)
    return Status(ErrorCode::insufficient_privilege, "tools run no transactions");
  const auto counter = memory::place_slot(*caller.server.region, caller.server.options.vector_parts(),
                                          request, peer.memory_server ? Later::stays : Later::is_an_error);
  if (!counter.ok()) return counter.status();
  reply.set_counter(*counter);
  return Status();
}

}  // namespace namdb::memory::handlers
