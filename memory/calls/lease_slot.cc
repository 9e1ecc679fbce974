// LEASE_SLOT: an execution slot for the caller (memory/coordinator/slots.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> lease_slot(Caller caller, const control::LeaseSlotRequest& /*request*/,
                                 control::LeaseSlotReply& reply) {
  ServerState& server = caller.server;
  if (caller.peer().tool) {
    co_return Status(ErrorCode::insufficient_privilege, "tools run no transactions");
  }
  Status reserved = co_await server.control->reserve_slot();
  if (!reserved.ok()) co_return reserved;
  const Peer* peer = server.peers.find(caller.id);
  // It may be gone meanwhile.
  if (peer == nullptr) co_return Status(ErrorCode::fenced, "this channel is not connected");
  const auto leased = server.slots->lease(caller.id, peer->compute_id, peer->name, peer->without);
  if (!leased.ok()) co_return leased.status();
  const Slot& slot = **leased;
  reply.set_slot(slot.id);
  reply.set_vector_position(slot.position);
  reply.set_first_counter(server.options.first_counter);
  reply.set_vector_length(server.slots->positions_in_use());
  reply.set_max_journal_room_bytes(server.journals.max_room_bytes());
  co_return Status();
}

}  // namespace namdb::memory::handlers
