// The parts of a worker that its connections use.
#pragma once

#include <cstdint>

#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"
#include "compute/cluster/location_cache.h"
#include "compute/txn/backoff.h"
#include "compute/txn/commit_outcomes.h"
#include "compute/worker/wake_ups.h"
#include "compute/worker/worker_options.h"

namespace namdb::compute {

// All outlive the connections.
struct WorkerParts {
  reactor::Executor& executor;
  fabric::ClientFabric& fabric;
  storage::LocationCache& locations;
  const WorkerOptions& options;
  const LogLine& log;
  txn::Backoff& backoff;
  std::uint64_t& damaged_reads;  // transactions that ended since something in a region was damaged
  WakeUps& wake_ups;
  txn::CommitOutcomes& outcomes;
};

}  // namespace namdb::compute
