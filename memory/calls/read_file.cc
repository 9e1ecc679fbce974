// READ_FILE (common/placement/move_calls.h), at a host that has its region: a piece of a file of its folder.
#include <utility>

#include "common/placement/move_calls.h"
#include "memory/calls/departure_call.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> read_file(Call call) {
  auto asked = ask_departure(call, placement::decode_read_file);
  if (!asked.ok()) co_return asked.status();
  co_return co_await asked->service->read_file(std::move(asked->request), &call.reply);
}

}  // namespace namdb::memory::handlers
