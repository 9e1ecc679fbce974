// FILES (common/placement/move_calls.h), at a host that has its region: the files of its folder.
#include <utility>

#include "common/placement/move_calls.h"
#include "memory/calls/departure_call.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> files(Call call) {
  auto asked = ask_departure(call, placement::decode_files);
  if (!asked.ok()) co_return asked.status();
  co_return co_await asked->service->files(std::move(asked->request), &call.reply);
}

}  // namespace namdb::memory::handlers
