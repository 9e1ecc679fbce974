// LIST_COMPUTES: the compute servers that are connected. Memory server 0 knows them by their workers'
// heartbeats.
#include <algorithm>
#include <map>

#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status list_computes(Caller caller, const control::ListComputesRequest& /*request*/,
                     control::ListComputesReply& reply) {
  const Peers& peers = caller.server.peers;
  const std::uint64_t now_ns = caller.server.executor.now_ns();
  std::map<std::uint64_t, control::ComputeServer> computes;  // by process
  std::map<std::uint64_t, std::uint64_t> heard_ns;           // its newest heartbeat
  for (const auto& [id, peer] : peers.all()) {
    const ComputeProcess& process = peer.process;
    if (process.id == 0) continue;
    control::ComputeServer& compute = computes[process.id];
    compute.set_workers(compute.workers() + 1);
    compute.set_silent_ns(std::max(compute.silent_ns(), now_ns - std::min(now_ns, peer.last_heard_ns)));
    compute.set_draining(peers.draining(process.id));
    std::uint64_t& newest_ns = heard_ns[process.id];
    if (compute.workers() > 1 && peer.last_heard_ns < newest_ns) continue;
    newest_ns = peer.last_heard_ns;
    control::ComputeFacts& facts = *compute.mutable_facts();
    facts.set_process(process.id);
    facts.set_address(process.address);
    facts.set_version(process.version);
    facts.set_started_us(process.started_us);
    facts.set_sessions(process.sessions);
  }
  for (auto& [process, compute] : computes) *reply.add_computes() = std::move(compute);
  return Status();
}

}  // namespace namdb::memory::handlers
