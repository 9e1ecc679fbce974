#include "compute/worker/silence_watch.h"

#include <string>
#include <utility>

#include "common/calls/hot_calls.h"

namespace namdb::compute {

reactor::Task<void> SilenceWatch::ping(std::shared_ptr<txn::Cluster> cluster, std::shared_ptr<Pings> pings,
                                       layout::ServerId server) {
  static_cast<void>(co_await cluster->call_bytes(server, calls::kPingMethod, ""));
  pings->erase(server);
}

void SilenceWatch::check(const std::shared_ptr<txn::Cluster>& cluster) {
  if (cluster_.lock() != cluster) {
    cluster_ = cluster;
    pings_ = std::make_shared<Pings>();
  }
  for (std::size_t i = 0; i < cluster->server_count(); ++i) {
    const auto server = static_cast<layout::ServerId>(i);
    const auto [pinged, is_new] = pings_->try_emplace(server, 0);
    if (is_new) {
      executor_.spawn(gate_, ping(cluster, pings_, server));
    } else if (++pinged->second == kParts) {
      cluster->channel(server).give_up(Status(
          ErrorCode::connection_failure, "memory server " + std::to_string(i) + " has not answered for " +
                                             std::to_string(timeout_ns_ / kMillisecond_ns) + " ms"));
    }
  }
}

}  // namespace namdb::compute
