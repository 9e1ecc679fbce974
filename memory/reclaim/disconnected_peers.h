// Compute servers that went away without a word: killed, fenced, or cut off. They may have left reserved
// memory, and deleted records that nobody noted. Both are seen to once they have *ended*: no channel of
// theirs is left here, and every slot that they had is closed, so that no repair writes for them any more.
//
// Server 0 looks at its slots. The others name who departed in heartbeats' replies; any worker asks server 0
// which of them have ended (ENDED_COMPUTES) and passes it on (SETTLE_DEPARTED). Ids are drawn anew for every
// connection of a worker, so who departed never comes back. A worker that leaves in order says so before.
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

  // A worker's channel is destroyed, and it had not left in order.
  void add(const std::string& compute_id) { departed_.insert(compute_id); }
  // Who departed and is not settled, into a heartbeat's reply; some of them, if there are many.
  void describe(control::HeartbeatReply& reply) const;
  // Those of the ids that departed, whether or not `ended` names others: they are settled, and forgotten.
  std::set<std::string> settle(const control::SettleDepartedRequest& ended);
  // The same by what server 0 knows itself.
  std::set<std::string> settle(const Slots& slots);

  bool empty() const { return departed_.empty(); }

 private:
  const Peers& peers_;
  std::set<std::string> departed_;
};

// Server 0: no channel of the compute server is left here, and each of its slots is closed.
bool ended(const std::string& compute_id, const Peers& peers, const Slots& slots);

}  // namespace namdb::memory
