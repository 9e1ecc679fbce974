// ALLOCATE_BUCKETS: a worker reserves memory for indirect buckets in advance.
#include "memory/calls/allocation.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status allocate_buckets(Caller caller, const control::AllocateBucketsRequest& request,
                        control::AllocateReply& reply) {
  Status status = caller.server.tables.allocate_buckets(request.table(), request.count(), reply);
  note_allocation(caller, request.table(), true, status, reply);
  return status;
}

}  // namespace namdb::memory::handlers
