// Which memory servers have restarted between two connections of a worker: the epoch of a region is another
// one then. Belongs to the worker's executor.
#pragma once

#include <cstdint>
#include <vector>

#include "common/layout/global_address.h"
#include "compute/cluster/cluster.h"

namespace namdb::txn {

class ServerEpochs {
 public:
  // A connection is there. The memory servers that it reaches and that have restarted since an earlier one
  // reached them; none at the first.
  std::vector<layout::ServerId> restarted(const Cluster& cluster);

 private:
  std::vector<std::uint64_t> epochs_;  // when they were reached last; 0: never
};

}  // namespace namdb::txn
