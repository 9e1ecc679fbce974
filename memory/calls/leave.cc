// LEAVE (common/placement/follow_calls.h), at a host that has its region: a copy gets it.
#include <utility>

#include "common/placement/follow_calls.h"
#include "memory/calls/copies_call.h"
#include "memory/calls/methods.h"
#include "memory/calls/waiting.h"

namespace namdb::memory::handlers {

reactor::Task<Status> leave(Call call) {
  auto copies = copies_for(call);
  if (!copies.ok()) co_return copies.status();
  auto request = placement::decode_leave(call.request);
  if (!request) co_return malformed(call.method);
  const Caller caller = call.caller;
  CopiesService::Gone gone = [caller] { return caller_is_gone(caller); };
  co_return co_await (*copies)->leave(std::move(*request), std::move(gone));
}

}  // namespace namdb::memory::handlers
