// CLOSE_JOURNAL (common/calls/journal_calls.h): the end of the stream of one of the caller's slots on this
// host (memory/journals/journals.h).
#include "common/calls/journal_calls.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> close_journal(Call call) {
  const auto request = calls::decode_close_journal(call.request);
  if (!request) co_return malformed(call.method);
  co_return co_await call.caller.server.journals.close(call.caller.id, request->slot, request->through);
}

}  // namespace namdb::memory::handlers
