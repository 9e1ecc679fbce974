// LEASE (common/calls/hot_calls.h): a worker asks whether it may answer clients from what it reads
// of this region.
#include <utility>

#include "memory/calls/methods.h"
#include "memory/calls/waiting.h"
#include "memory/state/copies_service.h"

namespace namdb::memory::handlers {

reactor::Task<Status> lease(Call call) {
  ServerState& server = call.caller.server;
  Status status;
  if (server.has_store && server.copies_service == nullptr) {
    status = Status(ErrorCode::cannot_connect_now, "the memory server opens, or ends");
  } else if (server.has_store) {
    const Caller caller = call.caller;
    CopiesService::Gone gone = [caller] { return caller_is_gone(caller); };
    status = co_await server.copies_service->lease(std::move(gone));
  }
  co_return status;
}

}  // namespace namdb::memory::handlers
