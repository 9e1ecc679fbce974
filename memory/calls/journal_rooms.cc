// LEASE_JOURNAL_ROOM and RETURN_JOURNAL_ROOM: rooms for journal entries that are too long for a slot's ring
// (memory/coordinator/slots.h), or for a slot's stream on this host (memory/journals/journals.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status lease_journal_room(Caller caller, const control::LeaseJournalRoomRequest& request,
                          control::LeaseJournalRoomReply& reply) {
  ServerState& server = caller.server;
  const bool of_stream = !server.slots || server.journals.find(request.slot()) != nullptr;
  const auto room = of_stream ? server.journals.lend_room(caller.id, request.slot(), request.length_bytes())
                              : server.slots->lend_room(caller.id, request.slot(), request.length_bytes());
  if (!room.ok()) return room.status();
  reply.set_offset(*room);
  return Status();
}

Status return_journal_room(Caller caller, const control::ReturnJournalRoomRequest& request,
                           control::ReturnJournalRoomReply& /*reply*/) {
  ServerState& server = caller.server;
  if (!server.slots || server.journals.find(request.slot()) != nullptr)
    return server.journals.give_back_room(caller.id, request.slot(), request.offset());
  return server.slots->take_room_back(caller.id, request.slot(), request.offset());
}

}  // namespace namdb::memory::handlers
