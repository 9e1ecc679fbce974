#include "memory/calls/waiting.h"

#include <algorithm>

namespace namdb::memory {
namespace {

// So many of the least times between two reuse epochs: memory that was freed before the call is back in about
// two, if no transaction keeps it.
constexpr std::uint64_t kReturnIntervals = 5;

}  // namespace

bool caller_is_gone(Caller caller) {
  const Peer* const peer = caller.server.peers.find(caller.id);
  return caller.server.stopping || peer == nullptr || caller.server.peers.fenced(peer->compute_id);
}

std::uint64_t retry_deadline_ns(const ServerState& server, std::uint64_t now_ns) {
  return now_ns + kReturnIntervals * server.options.reuse_interval_ns;
}

reactor::Task<bool> more_extents(Caller caller, std::uint64_t deadline_ns) {
  ServerState& server = caller.server;
  const std::uint64_t before = server.collector.returned();
  while (server.collector.returned() == before) {
    if (caller_is_gone(caller)) co_return false;
    const std::uint64_t now_ns = server.executor.now_ns();
    if (!server.collector.returns_extents() || now_ns >= deadline_ns) co_return false;
    co_await server.collector.wait_for_return(std::min(deadline_ns, now_ns + kCallerCheck_ns));
  }
  co_return !server.stopping && server.peers.find(caller.id) != nullptr;
}

}  // namespace namdb::memory
