// VERDICT (common/calls/decider_calls.h): the decider of server 0 tells that commits of a slot whose owner
// is fenced here are complete (memory/deciding/decide.h).
#include <utility>

#include "common/calls/decider_calls.h"
#include "memory/calls/decider_call.h"
#include "memory/calls/methods.h"
#include "memory/deciding/decide.h"

namespace namdb::memory::handlers {

reactor::Task<Status> verdict(Call call) {
  if (Status status = check_decider(call.caller); !status.ok()) co_return status;
  auto request = calls::decode_verdict(call.request);
  if (!request) co_return malformed(call.method);
  co_return co_await record_here(&call.caller.server, std::move(*request));
}

}  // namespace namdb::memory::handlers
