// RETURN_MEMORY: a worker gives back memory for records or indirect buckets that it did not use.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

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
