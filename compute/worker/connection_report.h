// A worker's report about its connections to memory servers, and those of the other workers of its compute
// server.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/facts.h"
#include "common/reactor/executor.h"
#include "compute/cluster/cluster.h"
#include "compute/worker/worker_options.h"

namespace namdb::compute {

class ConnectionReport {
 public:
  // The worker's state at the time of a report.
  struct Now {
    txn::Cluster* cluster = nullptr;  // null: there is no connection
    std::uint64_t connections = 0;    // that there have been
    std::string_view reason;          // why there is no connection
  };

  // All outlive this.
  ConnectionReport(const reactor::Executor& executor, const fabric::ClientFabric& fabric,
                   const WorkerOptions& options)
      : executor_(executor), fabric_(fabric), options_(options) {}

  // For the other workers, if they were not told a moment ago.
  void post(const Now& now);
  // The reports of all workers, in the order of workers and memory servers.
  std::vector<fabric::ConnectionFacts> all(const Now& now) const;

 private:
  std::vector<fabric::ConnectionFacts> own(const Now& now) const;

  const reactor::Executor& executor_;
  const fabric::ClientFabric& fabric_;
  const WorkerOptions& options_;
  std::uint64_t due_ns_ = 0;
};

}  // namespace namdb::compute
