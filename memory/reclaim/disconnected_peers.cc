#include "memory/reclaim/disconnected_peers.h"

#include <algorithm>

namespace namdb::memory {
namespace {

// Compute servers that one reply names.
constexpr int kMaxNamed = 64;

}  // namespace

bool ended(const std::string& compute_id, const Peers& peers, const Slots& slots) {
  if (!peers.of(compute_id).empty()) return false;
  return std::ranges::none_of(slots.active(), [&](const auto& entry) {
    return entry.second.compute_id == compute_id && entry.second.state != SlotState::closed;
  });
}

void DisconnectedPeers::describe(control::HeartbeatReply& reply) const {
  for (const std::string& compute_id : departed_) {
    if (reply.departed_size() == kMaxNamed) break;
    if (peers_.of(compute_id).empty()) reply.add_departed(compute_id);
  }
}

std::set<std::string> DisconnectedPeers::settle(const control::SettleDepartedRequest& ended) {
  std::set<std::string> settled;
  for (const std::string& compute_id : ended.compute_ids()) {
    // Outside input: one that is here has not ended.
    if (peers_.of(compute_id).empty() && departed_.erase(compute_id) != 0) settled.insert(compute_id);
  }
  return settled;
}

std::set<std::string> DisconnectedPeers::settle(const Slots& slots) {
  std::set<std::string> settled;
  for (const std::string& compute_id : departed_) {
    if (ended(compute_id, peers_, slots)) settled.insert(compute_id);
  }
  for (const std::string& compute_id : settled) departed_.erase(compute_id);
  return settled;
}

}  // namespace namdb::memory
