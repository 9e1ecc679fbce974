// LEASE_JOURNAL_ROOM and RETURN_JOURNAL_ROOM: rooms for journal entries that are too long for the ring of a
// slot's journal on this host (memory/journals/journals.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status lease_journal_room(Caller caller, const control::LeaseJournalRoomRequest& request,
                          control::LeaseJournalRoomReply& reply) {
  const auto room = caller.server.journals.lend_room(caller.id, request.slot(), request.length_bytes());
  if (!room.ok()) return room.status();
  reply.set_offset(*room);
  return Status();
}

Status return_journal_room(Caller caller, const control::ReturnJournalRoomRequest& request,
                           control::ReturnJournalRoomReply& /*reply*/) {
  return caller.server.journals.give_back_room(caller.id, request.slot(), request.offset());
}

}  // namespace namdb::memory::handlers
