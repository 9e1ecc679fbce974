#include "memory/coordinator/cluster_identity.h"

#include <utility>

namespace namdb::memory {
namespace {

Status restarted(std::size_t server) {
  return Status(ErrorCode::memory_server_restarted,
                "memory server " + std::to_string(server) + " has restarted and is empty",
                "restart all memory servers");
}

Status outdated() {
  return Status(ErrorCode::cannot_connect_now, "a memory server has restarted and opened its data meanwhile",
                "the compute server connects again by itself");
}

}  // namespace

ClusterIdentity::ClusterIdentity(std::uint32_t server_id, std::uint32_t server_count, std::uint64_t epoch)
    : server_id_(server_id), server_count_(server_count), epoch_(epoch) {}

Status ClusterIdentity::other_cluster() const {
  const std::string self = "memory server " + std::to_string(server_id_);
  return Status(ErrorCode::memory_server_restarted,
                self + " belongs to another cluster, or memory server 0 has restarted", "restart " + self);
}

Status ClusterIdentity::check(std::uint64_t cluster_epoch) const {
  if (cluster_epoch == 0) return Status();
  if (told_) return cluster_epoch == epochs_[0] ? Status() : outdated();
  if (server_id_ == 0) return cluster_epoch == epoch_ ? Status() : restarted(0);
  return epochs_.empty() || cluster_epoch == epochs_[0] ? Status() : other_cluster();
}

Status ClusterIdentity::join(const std::vector<std::uint64_t>& epochs) {
  if (epochs.size() != server_count_) {
    return Status(ErrorCode::protocol_violation,
                  "a cluster of " + std::to_string(server_count_) + " memory servers has as many epochs");
  }
  if (told_) {
    for (std::size_t server = 0; server < epochs.size(); ++server) {
      const bool away = epochs[server] == 0 && server != 0 && server != server_id_;
      if (!away && epochs[server] != epochs_[server]) return outdated();
    }
    return Status();
  }
  if (epochs[server_id_] != epoch_) return restarted(server_id_);
  if (epochs_.empty()) epochs_ = epochs;
  for (std::size_t server = 0; server < epochs.size(); ++server) {
    if (epochs[server] != epochs_[server]) return server == 0 ? other_cluster() : restarted(server);
  }
  return Status();
}

void ClusterIdentity::become(std::vector<std::uint64_t> epochs) {
  epochs_ = std::move(epochs);
  told_ = true;
}

}  // namespace namdb::memory
