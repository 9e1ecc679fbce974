#include "tools/stress/cluster.h"

#include <spdlog/spdlog.h>

#include <future>
#include <semaphore>
#include <stdexcept>
#include <utility>

#include "common/reactor/reactor_thread.h"
#include "compute/worker/sql_port.h"
#include "workloads/procedures.h"

namespace namdb::stress {
namespace {

constexpr std::uint16_t kMemoryServers = 2;
// Some hundreds of keys: workers push out each other's.
constexpr std::size_t kLocations_bytes = 4096;

memory::Options restless_options(std::uint16_t server) {
  memory::Options options;
  options.server_id = server;
  options.server_count = kMemoryServers;
  // Tables come and go faster than their memory comes back.
  options.extent_bytes = 64U << 10;
  options.journal_bytes = 1U << 20;
  options.ring_slots = 1;
  options.max_transaction_ns = 5 * kSecond_ns;
  options.slack_ns = 100 * kMillisecond_ns;
  options.collect_interval_ns = kMillisecond_ns;
  options.reuse_interval_ns = kMillisecond_ns;
  return options;
}

constexpr std::string_view kLocalPath = "+shm";

compute::Flags flags_of(std::vector<std::string> memory_servers, std::uint32_t workers) {
  compute::Flags flags;
  flags.memory_servers = std::move(memory_servers);
  flags.listen = "127.0.0.1:0";
  flags.workers = workers;
  return flags;
}

reactor::Task<void> serve(compute::SqlPort* port) {
  co_await port->serve();
}

}  // namespace

// The state that the server's threads share, and the event that ends them.
struct ComputeServer::Process {
  explicit Process(compute::Flags all)
      : flags(std::move(all)), state({}, [this] { return ++secret; }), locations(kLocations_bytes) {
    workloads::register_all(procedures);
  }

  // The first worker's thread.
  void run(std::promise<Result<std::uint16_t>>& ready) {
    auto started = compute::WorkerPool::start(shared);
    if (!started.ok()) return ready.set_value(started.status());
    pool = std::move(started).value();
    compute::SqlPort sql_port(flags, pool->workers());
    if (const Status status = sql_port.open(); !status.ok()) {
      pool.reset();
      return ready.set_value(status);
    }
    port = &sql_port;
    const std::string address = sql_port.addresses().front();
    ready.set_value(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    pool->run([this] { return serve(port); });
    told.acquire();
    pool.reset();
  }

  void stop() {
    pool->workers().front()->reactor().mailbox().post([this] {
      port->close();
      pool->stop_soon();
    });
    told.release();
  }

  compute::Flags flags;
  procedure::ProcedureRegistry procedures;
  std::uint32_t secret = 0;  // drawn under the state's lock
  pgwire::ProcessState state;
  storage::LocationCache locations;
  fabric::tcp::TcpOptions tcp;
  std::unique_ptr<reactor::ReactorThread> planning_thread = reactor::ReactorThread::start().value();
  compute::ComputeIdentity identity{1, "test", 0};
  compute::SharedState shared{flags,    procedures, state,   locations,
                              tcp,      {},         nullptr, planning_thread->reactor().mailbox(),
                              identity, {},         {}};
  std::unique_ptr<compute::WorkerPool> pool;
  compute::SqlPort* port = nullptr;
  std::binary_semaphore told{0};  // the mailbox is in use until post() has returned
};

ComputeServer::ComputeServer(compute::Flags flags) : process_(std::make_unique<Process>(std::move(flags))) {
  std::promise<Result<std::uint16_t>> ready;
  thread_ = std::thread([this, &ready] { process_->run(ready); });
  const Result<std::uint16_t> port = ready.get_future().get();
  if (!port.ok()) {
    thread_.join();
    throw std::runtime_error(port.status().to_string());
  }
  endpoint_.port = *port;
}

ComputeServer::~ComputeServer() {
  process_->stop();
  thread_.join();
}

Cluster::Cluster(std::string transport) : transport_(std::move(transport)) {
  // Here, before there are threads: the library's own set-up is not seen by the sanitizer.
  spdlog::set_level(spdlog::level::err);
  const bool local_path = transport_.ends_with(kLocalPath);
  if (local_path) transport_.resize(transport_.size() - kLocalPath.size());
  for (std::uint16_t server = 0; server < kMemoryServers; ++server) {
    auto started = support::ServerThread::start({.transport = transport_,
                                                 .region_bytes = 128U << 20,
                                                 .memory_server = restless_options(server),
                                                 .local_path = local_path});
    if (!started.ok()) throw std::runtime_error(started.status().to_string());
    memory_.push_back(std::move(started).value());
    if (local_path) sockets_.push_back(memory_.back()->socket());
  }
}

ComputeServer& Cluster::add_compute(std::uint32_t workers) {
  std::vector<std::string> addresses;
  for (const auto& server : memory_) addresses.push_back(server->address());
  compute::Flags flags = flags_of(std::move(addresses), workers);
  flags.fabric = transport_;
  if (!sockets_.empty()) {
    flags.beside = added_++ % kMemoryServers;
    flags.beside_socket = sockets_[*flags.beside];
  }
  computes_.push_back(std::make_unique<ComputeServer>(std::move(flags)));
  return *computes_.back();
}

std::vector<support::Endpoint> Cluster::endpoints() const {
  std::vector<support::Endpoint> endpoints;
  for (const auto& compute : computes_) endpoints.push_back(compute->endpoint());
  return endpoints;
}

}  // namespace namdb::stress
