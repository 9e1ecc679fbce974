#include "compute/recovery/table_growth.h"

#include "common/layout/record.h"
#include "proto/control.pb.h"

namespace namdb::txn {

reactor::Task<Status> pass_on_growth(Cluster& cluster, layout::ServerId server,
                                     const control::HeartbeatReply& reply) {
  for (const control::GrownTable& grown : reply.grown()) {
    control::GrowTableRequest grow;
    grow.set_server(server);
    *grow.mutable_table() = grown;
    Status status = co_await cluster.call(0, control::GROW_TABLE, grow, nullptr);
    if (cluster.has_lost()) co_return status;
    if (!status.ok()) continue;  // dropped, or not created yet
    control::RetireBucketsRequest retire;
    retire.set_table(grown.table());
    retire.set_doublings(grown.doublings());
    status = co_await cluster.call(server, control::RETIRE_BUCKETS, retire, nullptr);
    if (cluster.has_lost()) co_return status;
  }
  co_return Status();
}

void note_held_locks(const Cluster& cluster, LockResolver& locks, layout::ServerId server,
                     const control::HeartbeatReply& reply) {
  const std::uint64_t region_bytes = cluster.region_map(server).limit_bytes;
  for (const control::HeldLock& held : reply.held_locks()) {
    const std::uint32_t body_bytes = held.body_bytes();
    if (held.offset() % 8 != 0 || body_bytes % 8 != 0 ||
        body_bytes > layout::kMaxPayload_bytes + layout::kBodyPrefix_bytes ||
        held.offset() > region_bytes - 8 - body_bytes) {
      continue;
    }
    locks.note(layout::GlobalAddress(server, held.offset()), layout::HeaderWord(held.word()), body_bytes);
  }
}

}  // namespace namdb::txn
