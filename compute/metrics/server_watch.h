// The watch over a compute server that serves (common/metrics/daemon_watch.h). On the first worker's thread.
#pragma once

#include <string>
#include <vector>

#include "common/metrics/daemon_watch.h"
#include "compute/metrics/server_metrics.h"
#include "compute/pgwire/process_state.h"
#include "compute/worker/fabric_board.h"
#include "compute/worker/worker_pool.h"

namespace namdb::compute {

struct WatchedServer {
  const std::vector<WorkerThread*>& workers;
  pgwire::ProcessState& process;
  const FabricBoard& board;
  std::string version;
  std::string fabric;
};

// All that `server` refers to outlives the watch, which is closed while all workers run. The server is well
// when all workers have answered since they were asked last.
metrics::DaemonWatch::Subject watched(const WatchedServer& server);

}  // namespace namdb::compute
