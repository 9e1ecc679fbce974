// HEARTBEAT: a worker's acknowledgements and its news of the timestamp vector come in; the reply tells what
// the worker should acknowledge or look at next.
#include <algorithm>

#include "memory/calls/methods.h"

namespace namdb::memory::handlers {
namespace {

// Locks that one heartbeat's reply names.
constexpr int kMaxHeldLocks = 32;
// Of what a compute server says about itself.
constexpr std::size_t kMaxText_bytes = 255;

void follow_compute(Caller caller, const control::ComputeFacts& facts, control::HeartbeatReply& reply) {
  Peers& peers = caller.server.peers;
  Peer& peer = caller.peer();
  peer.process = {facts.process(), facts.address().substr(0, kMaxText_bytes),
                  facts.version().substr(0, kMaxText_bytes), facts.started_us(), facts.sessions()};
  if (facts.process() == 0) return;
  reply.set_drain(peers.draining(facts.process()));
  reply.set_lost_lease(peers.take_lost_lease(facts.process(), peer.worker));
}

}  // namespace

Status heartbeat(Caller caller, const control::HeartbeatRequest& request, control::HeartbeatReply& reply) {
  ServerState& server = caller.server;
  if (!server.admits(caller.peer().without)) return database_opens();
  // No worker can have learned of an epoch that has not begun; the catalog's version is server 0's to know.
  if (request.acknowledged_epoch() > server.reclaimer.epoch() ||
      request.acknowledged_versions() > server.version_epoch.current()) {
    return Status(ErrorCode::protocol_violation, "a heartbeat acknowledges what was not announced");
  }
  if (request.has_vector_copy() && !server.has_whole_vector() &&
      !server.copies.learn(request.vector_copy())) {
    return Status(ErrorCode::protocol_violation, "a heartbeat's copy of the timestamp vector is malformed");
  }
  Peer& peer = caller.peer();
  peer.last_heard_ns = server.executor.now_ns();
  peer.oldest_snapshot_ns = request.oldest_snapshot_ns();
  peer.leaving = request.leaving();
  peer.acknowledged_epoch = std::max(peer.acknowledged_epoch, request.acknowledged_epoch());
  peer.acknowledged_catalog = std::max(peer.acknowledged_catalog, request.acknowledged_catalog());
  peer.acknowledged_versions = std::max(peer.acknowledged_versions, request.acknowledged_versions());
  if (request.has_compute()) follow_compute(caller, request.compute(), reply);
  if (server.catalog) server.erase_replaced_indexes();
  reply.set_clock_ns(server.clock_ns());
  reply.set_reuse_epoch(server.reclaimer.epoch());
  reply.set_version_epoch(server.version_epoch.current());
  if (server.catalog) reply.set_catalog_version(server.catalog->version());
  reply.set_peers_gone(server.peers_gone);
  if (!server.slots) server.disconnected_peers.describe(reply);
  server.growth.consider_again();
  server.growth.describe(reply);
  server.indexes.describe(reply);
  server.tombstones.describe(reply, kMaxHeldLocks);
  return Status();
}

}  // namespace namdb::memory::handlers
