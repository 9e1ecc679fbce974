#include "compute/worker/silence_watch.h"

#include <string>
#include <utility>

#include "common/calls/hot_calls.h"
#include "compute/worker/connection.h"

namespace namdb::compute {

SilenceWatch::SilenceWatch(std::shared_ptr<Connection> connection, reactor::Gate& gate,
                           std::uint64_t timeout_ns)
    : connection_(std::move(connection)), gate_(gate), timeout_ns_(timeout_ns) {}

reactor::Task<void> SilenceWatch::ping(std::shared_ptr<SilenceWatch> self, layout::ServerId server) {
  static_cast<void>(co_await self->connection_->cluster.call_bytes(server, calls::kPingMethod, ""));
  self->pings_.erase(server);
}

void SilenceWatch::check() {
  txn::Cluster& cluster = connection_->cluster;
  for (std::size_t i = 0; i < cluster.server_count(); ++i) {
    const auto server = static_cast<layout::ServerId>(i);
    if (cluster.lacks(server)) continue;
    const auto [pinged, is_new] = pings_.try_emplace(server, 0);
    if (is_new) {
      cluster.executor().spawn(gate_, ping(shared_from_this(), server));
    } else if (++pinged->second == kParts) {
      cluster.channel(server).give_up(Status(ErrorCode::connection_failure,
                                             "memory server " + std::to_string(i) + " has not answered for " +
                                                 std::to_string(timeout_ns_ / kMillisecond_ns) + " ms"));
    }
  }
}

}  // namespace namdb::compute
