// OPEN_JOURNAL (common/calls/journal_calls.h): the stream of one of the caller's slots on this host
// (memory/journals/journals.h).
#include "common/calls/journal_calls.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> open_journal(Call call) {
  ServerState& server = call.caller.server;
  const auto request = calls::decode_open_journal(call.request);
  if (!request) co_return malformed(call.method);
  if (call.caller.peer().tool) {
    co_return Status(ErrorCode::insufficient_privilege, "tools run no transactions");
  }
  if (server.slots) {  // the other servers do not know whose a slot is
    const Slot* const slot = server.slots->find(request->slot);
    if (slot == nullptr || slot->owner != call.caller.id || slot->state != SlotState::leased) {
      co_return Status(ErrorCode::undefined_object,
                       "slot " + std::to_string(request->slot) + " is not leased by this channel");
    }
  }
  const auto opened = co_await server.journals.open(call.caller.id, request->slot);
  if (!opened.ok()) co_return opened.status();
  call.reply = calls::encode(*opened);
  co_return Status();
}

}  // namespace namdb::memory::handlers
