// Compute servers that disconnected without notice: killed, fenced, or cut off. They may have left reserved
// memory, and deleted records that they did not note. Both are freed once a compute server has *ended*: no
// channel of it is left here, and every slot that it had is closed, so that nothing is written for it any
// more.
//
// Server 0 checks its slots. The others name departed compute servers in heartbeats' replies; any worker asks
// server 0 which of them have ended (ENDED_COMPUTES) and passes it on (SETTLE_DEPARTED). Every connection of
// a worker has a new id, so a departed one never comes back. A worker that leaves cleanly says so before.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "memory/coordinator/slots.h"
#include "memory/peers/peers.h"
#include "proto/control.pb.h"

namespace namdb::memory {

class DisconnectedPeers {
 public:
  explicit DisconnectedPeers(const Peers& peers) : peers_(peers) {}

  // A worker's channel is destroyed, and it had not left cleanly.
  void add(const std::string& compute_id) { departed_.insert(compute_id); }
  // Names departed compute servers in a heartbeat's reply; some of them, if there are many.
  void describe(control::HeartbeatReply& reply) const;
  // Forgets the departed ones among the ids, and returns them. `ended` is outside input: it may name others.
  std::set<std::string> settle(const control::SettleDepartedRequest& ended);
  // The same by the knowledge of server 0 itself.
  std::set<std::string> settle(const Slots& slots);

  bool empty() const { return departed_.empty(); }

 private:
  const Peers& peers_;
  std::set<std::string> departed_;
};

// Server 0: no channel of the compute server is left here, and each of its slots is closed.
bool ended(const std::string& compute_id, const Peers& peers, const Slots& slots);

}  // namespace namdb::memory
