#include "memory/peers/peers.h"

#include <algorithm>

namespace namdb::memory {

Peer* Peers::find(fabric::PeerId id) {
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : &found->second;
}

std::vector<fabric::PeerId> Peers::of(std::string_view compute_id) const {
  std::vector<fabric::PeerId> ids;
  for (const auto& [id, peer] : peers_) {
    if (peer.compute_id == compute_id) ids.push_back(id);
  }
  return ids;
}

Acknowledged Peers::acknowledged() const {
  Acknowledged least;
  for (const auto& [id, peer] : peers_) {
    if (peer.tool) continue;
    least.epoch = std::min(least.epoch, peer.acknowledged_epoch);
    least.catalog = std::min(least.catalog, peer.acknowledged_catalog);
    least.versions = std::min(least.versions, peer.acknowledged_versions);
  }
  return least;
}

std::uint64_t Peers::oldest_snapshot_ns(std::uint64_t now_ns) const {
  std::uint64_t oldest = 0;
  for (const auto& [id, peer] : peers_) {
    if (peer.oldest_snapshot_ns == 0) continue;
    oldest = std::max(oldest, peer.oldest_snapshot_ns + (now_ns - peer.last_heard_ns));
  }
  return oldest;
}

std::set<std::string> Peers::silent_since(std::uint64_t time_ns) const {
  std::set<std::string> silent;
  for (const auto& [id, peer] : peers_) {
    if (!peer.tool && peer.last_heard_ns < time_ns) silent.insert(peer.compute_id);
  }
  return silent;
}

}  // namespace namdb::memory
