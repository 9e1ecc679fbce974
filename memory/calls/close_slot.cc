// CLOSE_SLOT: the end of an execution slot of the caller (memory/coordinator/slots.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

reactor::Task<Status> close_slot(Caller caller, const control::CloseSlotRequest& request,
                                 control::CloseSlotReply& /*reply*/) {
  ServerState& server = caller.server;
  Status status =
      server.slots->close(caller.id, request.slot(), request.final_counter(), server.executor.now_ns());
  server.collector.wake();
  if (!status.ok()) co_return status;
  co_return co_await server.control->log_closed(request.slot(), request.final_counter());
}

}  // namespace namdb::memory::handlers
