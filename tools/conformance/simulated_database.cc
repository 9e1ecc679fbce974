#include "tools/conformance/database.h"
#include "tools/namsim/cluster/cluster.h"

namespace namdb::conformance {
namespace {

class SimulatedDatabase final : public Database {
 public:
  explicit SimulatedDatabase(const DatabaseOptions& options)
      : world_(1), cluster_(world_, options_of(options)) {
    for (std::size_t i = 0; i < kComputeServers; ++i) cluster_.add_compute();
  }
  ~SimulatedDatabase() override {
    for (std::size_t i = 0; i < kComputeServers; ++i) cluster_.stop_compute(i, 60 * kSecond_ns);
  }
  txn::Engine& engine(std::size_t compute) override { return cluster_.worker(compute); }
  std::uint64_t clocks_apart_ns() const override { return 1100 * kMillisecond_ns; }

 private:
  static sim::ClusterOptions options_of(const DatabaseOptions& options) {
    sim::ClusterOptions cluster;
    cluster.memory_servers = 2;
    cluster.memory = options.memory(0);
    cluster.worker.lock_time = options.lock_time;
    return cluster;
  }
  void run_task(std::size_t compute, reactor::Task<void> task) override {
    world_.run(cluster_.node(compute), std::move(task));
  }

  fabric::sim::SimWorld world_;
  sim::Cluster cluster_;
};

}  // namespace

std::unique_ptr<Database> open_simulated(const DatabaseOptions& options) {
  return std::make_unique<SimulatedDatabase>(options);
}

}  // namespace namdb::conformance
