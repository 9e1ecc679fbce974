#include "compute/recovery/disconnected_peers.h"

#include "proto/control.pb.h"

namespace namdb::txn {

reactor::Task<Status> release_disconnected_peers(Cluster& cluster, layout::ServerId server,
                                                 const control::HeartbeatReply& reply) {
  if (reply.departed_size() == 0) co_return Status();
  control::EndedComputesRequest request;
  *request.mutable_compute_ids() = reply.departed();
  control::EndedComputesReply ended;
  Status status = co_await cluster.call(0, control::ENDED_COMPUTES, request, &ended);
  if (!status.ok() || ended.compute_ids_size() == 0) co_return status;
  control::SettleDepartedRequest release;
  *release.mutable_compute_ids() = ended.compute_ids();
  co_return co_await cluster.call(server, control::SETTLE_DEPARTED, release, nullptr);
}

reactor::Task<void> leave(Cluster& cluster, RecordSpace& space) {
  co_await space.return_all();
  control::HeartbeatRequest leaving;
  leaving.set_leaving(true);
  for (std::size_t i = 0; i < cluster.server_count(); ++i) {
    const auto server = static_cast<layout::ServerId>(i);
    // A server that is gone need not hear of it.
    if (!cluster.lacks(server))
      static_cast<void>(co_await cluster.call(server, control::HEARTBEAT, leaving, nullptr));
  }
}

}  // namespace namdb::txn
