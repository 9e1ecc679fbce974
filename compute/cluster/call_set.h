// One call a memory server, posted together and awaited together: one round trip, however many servers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/layout/global_address.h"
#include "common/reactor/pooled_allocator.h"
#include "compute/cluster/cluster.h"

namespace namdb::txn {

class CallSet {
 public:
  explicit CallSet(Cluster& cluster) : cluster_(cluster), calls_(cluster.server_count()) {}

  // The request to that server; no call is posted while it is empty. Cleared by run().
  std::string& request(layout::ServerId server) { return calls_[server].request; }
  // After run(): a server's reply, empty if it got no call.
  const std::string& reply(layout::ServerId server) const { return calls_[server].reply; }

  // Counts one round trip. The first error, if any; replies of other servers are there all the same.
  reactor::Task<Status> run(std::uint16_t method, fabric::OperationCounters& counters);
  // The same in two parts, for callers that post other operations in between, and count the round trip.
  void post(std::uint16_t method, fabric::OperationCounters& counters);
  reactor::Task<Status> finish(fabric::OperationCounters& counters);
  // After an error that no request of this kind may end in, gives up the memory servers that answered so
  // (Channel::give_up). Then locks of unknown state are undone once the slot is closed.
  void give_up();
  // Whether that server's last call failed.
  bool failed(layout::ServerId server) const;
  bool empty() const;
  // Some call that was posted is still under way.
  bool pending() const;
  std::size_t size() const { return calls_.size(); }

 private:
  Cluster& cluster_;
  reactor::PooledVector<fabric::Call> calls_;
  std::vector<std::pair<layout::ServerId, Status>> failed_;
};

}  // namespace namdb::txn
