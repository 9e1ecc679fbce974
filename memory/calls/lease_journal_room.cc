// LEASE_JOURNAL_ROOM: a room for a journal entry that is too long for the ring of a slot's journal on this
// host (memory/journals/journals.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status lease_journal_room(Caller caller, const control::LeaseJournalRoomRequest& request,
                          control::LeaseJournalRoomReply& reply) {
  const auto room = caller.server.journals.lend_room(caller.id, request.slot(), request.length_bytes());
  if (!room.ok()) return room.status();
  reply.set_offset(*room);
  return Status();
}

}  // namespace namdb::memory::handlers
