// GATHER: the first call of a round in which memory server 0 opens a database that lies on the disks of
// several memory servers (memory/opening/cluster_opening.h).
#include <algorithm>
#include <string>

#include "memory/calls/methods.h"
#include "memory/calls/opening_call.h"

namespace namdb::memory::handlers {
namespace {

constexpr std::uint64_t kPatience_ns = kSecond_ns;

// Channels of an earlier process of that memory server are to be gone, whose calls may still be under way.
// The transport knows of that process's end; where it does not hear, the channels are destroyed. The caller
// may be the earlier one, and its channel about to break, or broken: later channels are left alone.
reactor::Task<Status> await_predecessors(Caller caller) {
  ServerState& server = caller.server;
  const std::string name = caller.peer().name;
  const std::string compute_id = caller.peer().compute_id;
  const auto earlier = [&server, &name, caller] {
    return std::ranges::find_if(server.peers.all(), [&](const auto& entry) {
      return entry.second.memory_server && entry.second.name == name && entry.first < caller.id;
    });
  };
  const std::uint64_t deadline_ns = server.executor.now_ns() + kPatience_ns;
  while (earlier() != server.peers.all().end()) {
    if (server.stopping) co_return Status(ErrorCode::admin_shutdown, "the memory server is shutting down");
    if (server.executor.now_ns() < deadline_ns) {
      co_await server.fenced.wait_until(deadline_ns);
      continue;
    }
    if (earlier()->second.compute_id == compute_id)
      co_return Status(ErrorCode::cannot_connect_now, "a broken channel of " + name + " is not gone yet");
    const std::string other = earlier()->second.compute_id;
    server.start_fence(other);
    while (!server.peers.of(other).empty() && !server.stopping) co_await server.fenced.wait();
  }
  if (server.peers.find(caller.id) != nullptr) co_return Status();
  co_return Status(ErrorCode::fenced, "this channel is not connected");
}

}  // namespace

reactor::Task<Status> gather(Caller caller, const control::GatherRequest& request,
                             control::GatherReply& reply) {
  const auto service = opening_service_for(caller);
  if (!service.ok()) co_return service.status();
  Status status = co_await await_predecessors(caller);
  if (!status.ok()) co_return status;
  co_return co_await service.value()->gather(&request, &reply);
}

}  // namespace namdb::memory::handlers
