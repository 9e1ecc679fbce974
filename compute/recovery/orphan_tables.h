// Tables that a memory server keeps although the catalog does not have them: the worker that created or
// dropped them died, or lost its connection, before every memory server knew. Server 0 decides which tables
// exist; a worker that hears that a peer of some memory server is gone lets all servers discard the others.
// Every step may be repeated, by any worker; if a worker dies in between, those that hear of its death do the
// rest.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/cluster/cluster.h"

namespace namdb::txn {

class OrphanTables {
 public:
  // `cluster` outlives this.
  explicit OrphanTables(Cluster& cluster) : cluster_(cluster), gone_(cluster.server_count()) {}

  // From a heartbeat's reply: the number of peers of that server that are gone by now.
  void learn(std::size_t server, std::uint64_t peers_gone);
  // Discards them if a peer is gone since the last time, or since the connection began. An error means a lost
  // connection.
  reactor::Task<Status> discard();

 private:
  reactor::Task<Status> discard_all();

  Cluster& cluster_;
  std::vector<std::uint64_t> gone_;
  bool peer_gone_ = true;
};

}  // namespace namdb::txn
