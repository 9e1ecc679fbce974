// Makes a worker's connections, to where regions of memory servers are: where that may be elsewhere than at
// the known addresses, it asks hosts and tries once more. Belongs to the worker's executor.
#pragma once

#include <functional>
#include <memory>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/cluster/cluster.h"
#include "compute/worker/current_connection.h"
#include "compute/worker/region_finder.h"
#include "compute/worker/worker_parts.h"

namespace namdb::compute {

// Draws a compute id; the composition root gives one that is unique across machines.
using MakeComputeId = std::function<txn::ComputeId()>;

class Connector {
 public:
  // All outlive this.
  Connector(const WorkerParts& parts, RegionFinder& finder, const CurrentConnection& current,
            const MakeComputeId& make_compute_id)
      : parts_(parts), finder_(finder), current_(current), make_compute_id_(make_compute_id) {}

  // A new connection, as a new compute server. The error says why there is none. Once the worker stops, there
  // is no second attempt.
  reactor::Task<Result<std::shared_ptr<Connection>>> connect();

 private:
  reactor::Task<Result<std::shared_ptr<Connection>>> connect_once();
  // Whether hosts are worth asking after that attempt.
  bool may_have_moved(const Result<std::shared_ptr<Connection>>& attempt) const;

  const WorkerParts& parts_;
  RegionFinder& finder_;
  const CurrentConnection& current_;
  const MakeComputeId& make_compute_id_;
};

}  // namespace namdb::compute
