// Memory servers on threads of their own; both compute servers on one reactor, which the test's thread runs.
// Over tcp+shm compute server K stands beside memory server K, whose region it maps.
#include <spdlog/spdlog.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

#include "common/fabric/local_path.h"
#include "common/fabric/shm/transport.h"
#include "common/reactor/reactor.h"
#include "compute/cluster/location_cache.h"
#include "compute/worker/local_path.h"
#include "compute/worker/worker.h"
#include "tools/conformance/database.h"
#include "tools/support/servers/server_thread.h"
#include "tools/support/servers/transports.h"

namespace namdb::conformance {
namespace {

constexpr std::uint16_t kMemoryServers = 2;
constexpr std::uint64_t kRegion_bytes = 24U << 20;

fabric::verbs::VerbsOptions verbs_options() {
  fabric::verbs::VerbsOptions options;
  options.key.emplace().bytes.fill(7);
  return options;
}

struct Compute {
  std::unique_ptr<fabric::ClientFabric> fabric;
  storage::LocationCache locations{1U << 20};
  std::unique_ptr<compute::Worker> worker;
};

reactor::Task<void> start(compute::Worker* worker, Status* status) {
  *status = co_await worker->start();
}
reactor::Task<void> stop(compute::Worker* worker) {
  co_await worker->stop();
}

class RealDatabase final : public Database {
 public:
  explicit RealDatabase(const DatabaseOptions& options) {
    spdlog::set_level(spdlog::level::err);
    const bool local_path = options.transport == "tcp+shm";
    const std::string network = local_path ? "tcp" : options.transport;
    std::vector<std::string> addresses;
    for (std::uint16_t server = 0; server < kMemoryServers; ++server) {
      support::ServerThreadOptions thread{.transport = network,
                                          .region_bytes = kRegion_bytes,
                                          .memory_server = options.memory(server),
                                          .local_path = local_path,
                                          .verbs = verbs_options()};
      thread.memory_server->server_count = kMemoryServers;
      if (const char* const host = std::getenv("NAMDB_TEST_VERBS_ADDRESS")) thread.verbs_host = host;
      auto started = support::ServerThread::start(thread);
      if (!started.ok()) throw std::runtime_error(started.status().to_string());
      memory_.push_back(std::move(started).value());
      addresses.push_back(memory_.back()->address());
    }
    auto reactor = reactor::Reactor::create();
    if (!reactor.ok()) throw std::runtime_error(reactor.status().to_string());
    reactor_ = std::move(reactor).value();
    const fabric::TransportRegistry registry = support::transports(*reactor_, {}, verbs_options());
    for (std::size_t i = 0; i < computes_.size(); ++i)
      start_compute(i, *registry.find(network).value(), addresses, local_path, options.lock_time);
  }
  ~RealDatabase() override {
    for (Compute& compute : computes_) {
      if (compute.worker != nullptr) reactor_->run_until(stop(compute.worker.get()));
    }
  }
  txn::Engine& engine(std::size_t compute) override { return *computes_.at(compute).worker; }

 private:
  void start_compute(std::size_t index, const fabric::Transport& transport,
                     const std::vector<std::string>& addresses, bool local_path, txn::LockTime lock_time) {
    Compute& compute = computes_.at(index);
    compute.fabric = transport.make_client();
    compute::WorkerOptions options;
    options.snapshot_mode = support::snapshot_mode(transport.name);
    options.lock_time = lock_time;
    if (local_path) {
      auto local = fabric::shm::local_client(*reactor_, compute.fabric->pool());
      compute.fabric = std::make_unique<fabric::LocalPathClient>(
          std::move(compute.fabric), std::move(local),
          compute::local_path(addresses.at(index), memory_.at(index)->socket(), "conformance"));
      if (index == 0) options.snapshot_mode = txn::SnapshotMode::together;
    }
    options.memory_servers = addresses;
    // Building an index waits for the other workers' transactions.
    options.heartbeat_ns = 5 * kMillisecond_ns;
    compute.worker = std::make_unique<compute::Worker>(
        *reactor_, *compute.fabric, compute.locations, std::move(options),
        [this] {
          txn::ComputeId id{};
          id.back() = std::byte{++ids_};
          return id;
        },
        [](const std::string&) {});
    Status status;
    reactor_->run_until(start(compute.worker.get(), &status));
    if (!status.ok()) throw std::runtime_error(status.to_string());
  }
  void run_task(std::size_t /*compute*/, reactor::Task<void> task) override {
    reactor_->run_until(std::move(task));
  }

  std::vector<std::unique_ptr<support::ServerThread>> memory_;
  std::unique_ptr<reactor::Reactor> reactor_;
  std::array<Compute, kComputeServers> computes_;
  std::uint8_t ids_ = 0;
};

}  // namespace

std::unique_ptr<Database> open_real(const DatabaseOptions& options) {
  return std::make_unique<RealDatabase>(options);
}

}  // namespace namdb::conformance
