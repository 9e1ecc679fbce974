// The parts by which a worker keeps itself connected, for the tasks that do it. Belongs to the worker's
// executor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/reactor/executor.h"
#include "compute/cluster/location_cache.h"
#include "compute/worker/connector.h"
#include "compute/worker/current_connection.h"
#include "compute/worker/earlier_connections.h"
#include "compute/worker/region_finder.h"
#include "compute/worker/wake_ups.h"
#include "compute/worker/worker_options.h"

namespace namdb::compute {

struct Upkeep {
  reactor::Executor& executor;
  const WorkerOptions& options;
  const LogLine& log;
  storage::LocationCache& locations;
  WakeUps& wake_ups;
  RegionFinder& finder;
  CurrentConnection& current;
  EarlierConnections& earlier;
  Connector& connector;
  reactor::Gate& tasks;  // has what goes on in the background

  // The pause before the next attempt to connect, in ns: a part of the time since `began_ns`, when the
  // attempts began.
  std::uint64_t attempt_pause_ns(std::uint64_t began_ns) const {
    constexpr std::uint64_t kPauses = 16;
    return std::clamp((executor.now_ns() - began_ns) / kPauses, options.first_reconnect_ns,
                      options.max_reconnect_ns);
  }
};

}  // namespace namdb::compute
