// ALLOCATE_RECORDS, ALLOCATE_BUCKETS, RETURN_MEMORY: workers reserve memory for records and indirect buckets
// in advance, and give back what they did not use.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {
namespace {

void note_allocation(Caller caller, std::uint32_t table, bool buckets, const Status& status,
                     const control::AllocateReply& reply) {
  ServerState& server = caller.server;
  if (!status.ok()) {
    server.collector.wake();  // a full region is searched for deleted rows
    return;
  }
  server.reservations.granted(caller.peer().compute_id, table, buckets, reply);
  server.growth.consider(table);
}

}  // namespace

Status allocate_records(Caller caller, const control::AllocateRecordsRequest& request,
                        control::AllocateReply& reply) {
  Status status = caller.server.tables.allocate_records(request.table(), request.count(), reply);
  note_allocation(caller, request.table(), false, status, reply);
  return status;
}

Status allocate_buckets(Caller caller, const control::AllocateBucketsRequest& request,
                        control::AllocateReply& reply) {
  Status status = caller.server.tables.allocate_buckets(request.table(), request.count(), reply);
  note_allocation(caller, request.table(), true, status, reply);
  return status;
}

Status return_memory(Caller caller, const control::ReturnMemoryRequest& request,
                     control::ReturnMemoryReply& /*reply*/) {
  ServerState& server = caller.server;
  auto offsets = server.tables.returned(request);
  if (!offsets.ok()) return offsets.status();
  server.reservations.returned(request.table(), request.buckets(), *offsets);
  // The worker that held the memory gives it back itself: none of its operations is on its way there, and no
  // other worker ever knew of it.
  if (request.buckets()) {
    server.tables.free_buckets(request.table(), *offsets);
  } else {
    for (const std::uint64_t offset : *offsets) server.tables.free_record(request.table(), offset);
  }
  return Status();
}

}  // namespace namdb::memory::handlers
