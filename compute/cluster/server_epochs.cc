#include "compute/cluster/server_epochs.h"

namespace namdb::txn {

std::vector<layout::ServerId> ServerEpochs::restarted(const Cluster& cluster) {
  std::vector<layout::ServerId> restarted;
  epochs_.resize(cluster.server_count());
  for (std::size_t i = 0; i < epochs_.size(); ++i) {
    const auto server = static_cast<layout::ServerId>(i);
    if (cluster.away(server)) continue;
    const std::uint64_t epoch = cluster.region_map(server).epoch;
    if (epochs_[i] != 0 && epochs_[i] != epoch) restarted.push_back(server);
    epochs_[i] = epoch;
  }
  return restarted;
}

}  // namespace namdb::txn
