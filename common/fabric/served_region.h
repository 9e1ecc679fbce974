// The state that the parts of a transport's server side share: the server has it as a member, and its
// connections and its loopback channel refer to it. They are gone before the server is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "common/fabric/fabric.h"
#include "common/fabric/registry.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::fabric {

// Keeps a server's connections, and outlives them.
class ConnectionOwner {
 public:
  // The connection that this peer made is closed and executes nothing more: reports its peers when their
  // calls have ended, and destroys it. Once a connection.
  virtual void closed(PeerId peer) = 0;

 protected:
  ~ConnectionOwner() = default;
};

// Belongs to the executor's thread. Only the server closes the gate.
struct ServedRegion {
  ServedRegion(reactor::Executor& server_executor, const ServerRegion& server_region, Service& region_service)
      : executor(server_executor), region(server_region), service(region_service), changed(server_executor) {
    region.capacity_bytes = std::max(region.length_bytes, region.capacity_bytes);
  }

  // The region at its present length.
  std::span<std::byte> bytes() const { return {region.base, region.length_bytes}; }

  // Runs a call of the server itself, as peer 0. The call outlives it.
  void run_own(Call& call);

  reactor::Executor& executor;
  // The memory belongs to the server's owner. ServerFabric::grow() changes the length, nothing changes the
  // rest.
  ServerRegion region;
  Service& service;
  // Counts the tasks of the server and of its connections.
  reactor::Gate gate;
  // Notified when something ends that a task may wait for: a peer; a call, where its connection is closed or
  // its member leaves; on shm each call and handshake.
  reactor::Event changed;

 private:
  reactor::Task<void> serve_own(Call* call);
};

}  // namespace namdb::fabric
