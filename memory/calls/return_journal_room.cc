// RETURN_JOURNAL_ROOM: the caller gives back a room that no journal entry names
// (memory/journals/journals.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status return_journal_room(Caller caller, const control::ReturnJournalRoomRequest& request,
                           control::ReturnJournalRoomReply& /*reply*/) {
  return caller.server.journals.give_back_room(caller.id, request.slot(), request.offset());
}

}  // namespace namdb::memory::handlers
