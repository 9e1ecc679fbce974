// ALLOCATE_RECORDS: a worker reserves memory for records in advance.
#include "memory/calls/allocation.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status allocate_records(Caller caller, const control::AllocateRecordsRequest& request,
                        control::AllocateReply& reply) {
  Status status = caller.server.tables.allocate_records(request.table(), request.count(), reply);
  note_allocation(caller, request.table(), false, status, reply);
  return status;
}

}  // namespace namdb::memory::handlers
