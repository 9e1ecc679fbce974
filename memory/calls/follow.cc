// FOLLOW (common/placement/follow_calls.h), at a host that has its region: a copy asks for the next blocks
// of the log.
#include <utility>

#include "common/placement/follow_calls.h"
#include "memory/calls/copies_call.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> follow(Call call) {
  auto copies = copies_for(call);
  if (!copies.ok()) co_return copies.status();
  auto request = placement::decode_follow(call.request);
  if (!request) co_return malformed(call.method);
  co_return co_await (*copies)->follow(call.caller.id, std::move(*request), &call.reply);
}

}  // namespace namdb::memory::handlers
