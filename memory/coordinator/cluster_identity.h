// Decides which memory servers are one cluster: those of one list of epochs. An epoch is drawn at random at
// every start, so a memory server that restarted (and is empty) counts as another server. Server 0's epoch
// names the cluster as a whole.
//
// Every worker says when it connects which epochs it found (JOIN_CLUSTER): to server 0 first, then to the
// others. Each server keeps the first list that it is told and refuses every other. A server that is in no
// cluster yet takes any worker's greeting, for it may have been started just now; only server 0's consent
// makes it a member. So memory servers may be restarted in any order, and once all were, they are a cluster.
//
// The servers of a database on disk come back with their data. Each time that they have opened
// (memory/opening), server 0 tells all of them the epochs that belong together; workers with other epochs
// connect again. A worker may join such a cluster while a server is away: it names epoch 0 for that server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace namdb::memory {

class ClusterIdentity {
 public:
  ClusterIdentity(std::uint32_t server_id, std::uint32_t server_count, std::uint64_t epoch);

  // For a greeting: error memory_server_restarted when this server is in another cluster than that of the
  // given epoch. 0: the peer does not say.
  Status check(std::uint64_t cluster_epoch) const;
  // `epochs`: one a memory server. Error memory_server_restarted if they differ from the first list; it names
  // the server that has to be restarted. protocol_violation if they cannot be the epochs of a cluster.
  Status join(const std::vector<std::uint64_t>& epochs);
  // From now on those are the cluster's, and a peer with others gets cannot_connect_now.
  void become(std::vector<std::uint64_t> epochs);

 private:
  Status other_cluster() const;

  std::uint32_t server_id_;
  std::uint32_t server_count_;
  std::uint64_t epoch_;
  std::vector<std::uint64_t> epochs_;  // empty: in no cluster yet
  bool told_ = false;                  // by server 0
};

}  // namespace namdb::memory
