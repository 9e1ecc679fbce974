// VOID (common/calls/decider_calls.h): the decider of server 0 undoes entries that this host's journal has
// of a slot whose owner is fenced here (memory/deciding/decide.h).
#include <utility>

#include "common/calls/decider_calls.h"
#include "memory/calls/decider_call.h"
#include "memory/calls/methods.h"
#include "memory/deciding/decide.h"

namespace namdb::memory::handlers {

reactor::Task<Status> void_entries(Call call) {
  if (Status status = check_decider(call.caller); !status.ok()) co_return status;
  auto request = calls::decode_void(call.request);
  if (!request) co_return malformed(call.method);
  co_return co_await make_void_here(&call.caller.server, std::move(*request));
}

}  // namespace namdb::memory::handlers
