// What the memory server tells tools about itself beyond its state: where every byte is, and what waits.
#include <algorithm>

#include "memory/server/accounting.h"
#include "memory/server/server.h"

namespace namdb::memory {
namespace {

// Records that one request may have looked at.
constexpr std::uint64_t kMaxSample = 1U << 16;

}  // namespace

control::MemoryReply MemoryServer::memory() const {
  return account(
      {*region_, tables_, indexes_, overflow_, old_versions_, reuse_, slots_.get(), reservations_});
}

reactor::Task<void> MemoryServer::describe_status(const control::StatusRequest& request,
                                                  control::StatusReply& reply) {
  const RingSample rings =
      co_await rings_.look(std::min<std::uint64_t>(request.sample_records(), kMaxSample));
  reply = status();
  control::Backlog& backlog = *reply.mutable_backlog();
  backlog.set_sampled_records(rings.records);
  backlog.set_sampled_ring_slots(rings.slots);
  backlog.set_unmoved_ring_slots(rings.unmoved);
  const std::uint64_t now_ns = executor_.now_ns();
  backlog.set_live_versions(old_versions_.live().versions);
  backlog.set_aging_versions(old_versions_.aging().versions);
  backlog.set_aging_ns(now_ns - old_versions_.aging_since_ns(now_ns));
  backlog.set_tombstones(tombstones_.pending());
  backlog.set_reuse_pieces(reuse_.pending_count());
  backlog.set_oldest_snapshot_ns(peers_.oldest_snapshot_ns(now_ns));
}

}  // namespace namdb::memory
