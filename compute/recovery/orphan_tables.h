// Tables that a memory server keeps although the catalog does not have them: whoever created or dropped them
// died, or lost its connection, before every memory server knew. Server 0 decides what there is; any worker
// that hears that a peer of some memory server is gone lets the others discard what is too much. Every step
// may be repeated, by any worker; one that dies in between leaves it to those that hear of that.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/cluster/cluster.h"

namespace namdb::txn {

class OrphanTables {
 public:
  // `cluster` outlives this.
  explicit OrphanTables(Cluster& cluster) : cluster_(cluster), gone_(cluster.server_count()) {}

  // A heartbeat's reply: so many peers of that server are gone by now.
  void learn(std::size_t server, std::uint64_t peers_gone);
  // If anybody is gone since the last time, or since the connection began. An error means a lost connection.
  reactor::Task<Status> discard();

 private:
  reactor::Task<Status> discard_all();

  Cluster& cluster_;
  std::vector<std::uint64_t> gone_;
  bool peer_gone_ = true;
};

}  // namespace namdb::txn
