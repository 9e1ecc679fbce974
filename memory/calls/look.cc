// LOOK (common/calls/decider_calls.h): the decider of server 0 learns what this host's journal has of a slot
// whose owner is fenced here (memory/deciding/decide.h).
#include "common/calls/decider_calls.h"
#include "memory/calls/decider_call.h"
#include "memory/calls/methods.h"
#include "memory/deciding/decide.h"

namespace namdb::memory::handlers {

reactor::Task<Status> look(Call call) {
  if (Status status = check_decider(call.caller); !status.ok()) co_return status;
  const auto request = calls::decode_look(call.request);
  if (!request) co_return malformed(call.method);
  const auto seen = co_await look_here(&call.caller.server, request->slot);
  if (!seen.ok()) co_return seen.status();
  call.reply = calls::encode(*seen);
  co_return Status();
}

}  // namespace namdb::memory::handlers
