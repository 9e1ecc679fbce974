// HAND_OVER (common/placement/move_calls.h), at a host that has its region: the region moves to the caller.
#include <utility>

#include "common/placement/move_calls.h"
#include "memory/calls/departure_call.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> hand_over(Call call) {
  auto asked = ask_departure(call, placement::decode_hand_over);
  if (!asked.ok()) co_return asked.status();
  co_return co_await asked->service->hand_over(std::move(asked->request));
}

}  // namespace namdb::memory::handlers
