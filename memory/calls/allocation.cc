#include "memory/calls/allocation.h"

namespace namdb::memory {

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

}  // namespace namdb::memory
