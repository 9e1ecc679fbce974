// RETIRE_BUCKETS: the catalog has a table's doubled array, so the outgrown one may go.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status retire_buckets(Caller caller, const control::RetireBucketsRequest& request,
                      control::RetireBucketsReply& /*reply*/) {
  Status status = caller.server.growth.retire(request);
  caller.server.collector.wake();
  return status;
}

}  // namespace namdb::memory::handlers
