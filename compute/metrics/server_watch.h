// Looks after a compute server that serves: tells the service manager that all workers are well and how the
// server is, and gives its metrics out over HTTP. On the first worker's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/metrics/metrics_server.h"
#include "compute/metrics/server_metrics.h"
#include "compute/pgwire/process_state.h"
#include "compute/worker/fabric_board.h"
#include "compute/worker/worker_pool.h"

namespace namdb::compute {

class ServerWatch {
 public:
  struct Subject {
    const std::vector<WorkerThread*>& workers;
    pgwire::ProcessState& process;
    const FabricBoard& board;
    std::string version;
    std::string fabric;
  };

  // All that `subject` refers to outlives the watch. `metrics_listen`: HOST:PORT, or empty. Error
  // configuration for an address that cannot be listened at.
  static Result<std::unique_ptr<ServerWatch>> create(Subject subject, const std::string& metrics_listen);
  ~ServerWatch();

  // Once.
  void start();
  // Once, behind start(), while all workers run.
  reactor::Task<void> close();

  // Where the metrics are; empty: nowhere.
  std::string address() const { return metrics_ ? metrics_->address() : std::string(); }

 private:
  // The last round in which a worker's thread said something. Owned by the messages, too.
  using Signs = std::vector<std::atomic<std::uint64_t>>;

  explicit ServerWatch(Subject subject);
  ServerFigures figures() const;
  std::string page() const;
  // Asks all workers for a sign; true if all have given that of the round before.
  bool ask_for_signs();
  reactor::Task<void> tell();

  Subject subject_;
  reactor::Reactor& reactor_;
  std::unique_ptr<metrics::MetricsServer> metrics_;
  std::shared_ptr<Signs> signs_;
  std::uint64_t round_ = 0;
  reactor::Event closing_;
  reactor::Gate gate_;
};

}  // namespace namdb::compute
