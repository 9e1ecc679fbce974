// SERVE: the last call of a round in which memory server 0 opens a database that lies on the disks of
// several memory servers (memory/opening/cluster_opening.h).
#include "memory/calls/methods.h"
#include "memory/calls/opening_call.h"

namespace namdb::memory::handlers {

reactor::Task<Status> serve(Caller caller, const control::ServeRequest& request,
                            control::ServeReply& /*reply*/) {
  const auto service = opening_service_for(caller);
  if (!service.ok()) co_return service.status();
  co_return co_await service.value()->serve(&request);
}

}  // namespace namdb::memory::handlers
