#include "compute/recovery/departed.h"

#include "proto/control.pb.h"

namespace namdb::txn {

reactor::Task<Status> settle_departed(Cluster& cluster, layout::ServerId server,
                                      const control::HeartbeatReply& reply) {
  if (reply.departed_size() == 0) co_return Status();
  control::EndedComputesRequest ask;
  *ask.mutable_compute_ids() = reply.departed();
  control::EndedComputesReply ended;
  Status status = co_await cluster.call(0, control::ENDED_COMPUTES, ask, &ended);
  if (!status.ok() || ended.compute_ids_size() == 0) co_return status;
  control::SettleDepartedRequest settle;
  *settle.mutable_compute_ids() = ended.compute_ids();
  co_return co_await cluster.call(server, control::SETTLE_DEPARTED, settle, nullptr);
}

reactor::Task<void> leave(Cluster& cluster, RecordSpace& space) {
  co_await space.return_all();
  control::HeartbeatRequest farewell;
  farewell.set_leaving(true);
  for (std::size_t server = 0; server < cluster.server_count() && !cluster.failed(); ++server) {
    const Status status =
        co_await cluster.call(static_cast<layout::ServerId>(server), control::HEARTBEAT, farewell, nullptr);
    static_cast<void>(status);  // a server that is gone needs no word
  }
}

}  // namespace namdb::txn
