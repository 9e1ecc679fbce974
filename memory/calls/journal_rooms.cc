// LEASE_JOURNAL_ROOM and RETURN_JOURNAL_ROOM: rooms for journal entries that are too long for a slot's ring
// (memory/coordinator/slots.h), or for a slot's stream on this host (memory/journals/journals.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {
namespace {

// Server 0 also lends rooms to slots that have no stream here.
bool of_stream(const ServerState& server, std::uint32_t slot) {
  return !server.slots || server.journals.find(slot) != nullptr;
}

}  // namespace

Status lease_journal_room(Caller caller, const control::LeaseJournalRoomRequest& request,
                          control::LeaseJournalRoomReply& reply) {
  ServerState& server = caller.server;
  const auto room = of_stream(server, request.slot())
                        ? server.journals.lend_room(caller.id, request.slot(), request.length_bytes())
                        : server.slots->lend_room(caller.id, request.slot(), request.length_bytes());
  if (!room.ok()) return room.status();
  reply.set_offset(*room);
  return Status();
}

Status return_journal_room(Caller caller, const control::ReturnJournalRoomRequest& request,
                           control::ReturnJournalRoomReply& /*reply*/) {
  ServerState& server = caller.server;
  if (of_stream(server, request.slot()))
    return server.journals.give_back_room(caller.id, request.slot(), request.offset());
  return server.slots->take_room_back(caller.id, request.slot(), request.offset());
}

}  // namespace namdb::memory::handlers
