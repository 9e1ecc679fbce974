#include "tools/nambench/micro/oracle_bench.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <semaphore>
#include <utility>

#include "common/reactor/reactor_thread.h"
#include "tools/nambench/micro/oracle_clients.h"
#include "tools/nambench/micro/oracle_scanner.h"
#include "tools/support/servers/server_thread.h"

namespace namdb::nambench {
namespace {

constexpr std::uint64_t kJournal_bytes = 64U << 10;
// Memory servers that have the partitioned vector.
constexpr std::uint16_t kPartitions = 2;

constexpr const char kCounter[] = "counter";
constexpr const char kVector[] = "vector";
constexpr const char kFetched[] = "vector+fetcher";
constexpr const char kPartitioned[] = "partitioned";
constexpr const char kCompressed[] = "compressed";
constexpr const char kCompressedFetched[] = "compressed+fetcher";

struct Shape {
  std::string transport;
  std::string oracle;
  std::uint64_t clients;
  std::uint64_t threads;
};

reactor::Task<void> store(reactor::Task<Status> task, Status* status, std::binary_semaphore* done) {
  *status = co_await std::move(task);
  done->release();
}

// One thread with its clients.
class Worker {
 public:
  static Result<std::unique_ptr<Worker>> start(const Shape& shape, const std::vector<std::string>& addresses,
                                               std::uint64_t clients) {
    auto thread = reactor::ReactorThread::start();
    if (!thread.ok()) return thread.status();
    auto worker = std::unique_ptr<Worker>(new Worker(std::move(thread).value(), clients));
    worker->on_thread(
        [&] { worker->clients_ = make(shape, worker->thread_->reactor(), addresses, clients); });
    if (Status status = worker->run([&] { return worker->clients_->open(); }); !status.ok()) return status;
    return worker;
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    // An error has been seen before.
    const Status status = run([this] { return clients_->close(); });
    static_cast<void>(status);
    on_thread([this] { clients_.reset(); });
  }

  // All clients, so many transactions each; wait() says how it went.
  void begin(std::uint64_t transactions) {
    mailbox().post([this, transactions] {
      before_ = clients_->counters();
      round_trips_ = 0;
      running_ = count_;
      for (std::uint64_t client = 0; client < count_; ++client) {
        thread_->reactor().spawn(gate_, run_client(client, transactions));
      }
    });
  }
  Status wait() {
    done_.acquire();
    return status_;
  }
  // Of the last begin().
  fabric::OperationCounters cost() {
    // On the thread: the task that fetches snapshots ahead may still count.
    fabric::OperationCounters cost;
    on_thread([&] { cost = clients_->counters() - before_; });
    return cost;
  }
  std::uint64_t round_trips() const { return round_trips_; }

 private:
  Worker(std::unique_ptr<reactor::ReactorThread> thread, std::uint64_t clients)
      : thread_(std::move(thread)), count_(clients) {}
  reactor::Mailbox& mailbox() { return thread_->reactor().mailbox(); }

  static std::unique_ptr<OracleClients> make(const Shape& shape, reactor::Reactor& reactor,
                                             const std::vector<std::string>& addresses,
                                             std::uint64_t clients) {
    if (shape.oracle == kCounter) return counter_clients(reactor, addresses.front(), clients);
    VectorClientsOptions options;
    options.clients = clients;
    options.slot_each = shape.oracle == kVector || shape.oracle == kFetched || shape.oracle == kPartitioned;
    options.prefetched = shape.oracle == kFetched || shape.oracle == kCompressedFetched;
    return vector_clients(reactor, addresses, options);
  }

  // Runs the function there and waits for it.
  void on_thread(const std::function<void()>& function) {
    std::binary_semaphore done(0);
    mailbox().post([&] {
      function();
      done.release();
    });
    done.acquire();
  }
  Status run(const std::function<reactor::Task<Status>()>& task) {
    Status status;
    std::binary_semaphore done(0);
    mailbox().post([&] { thread_->reactor().spawn(gate_, store(task(), &status, &done)); });
    done.acquire();
    return status;
  }

  reactor::Task<void> run_client(std::uint64_t client, std::uint64_t transactions) {
    for (std::uint64_t i = 0; i < transactions && status_.ok(); ++i) {
      Status status = co_await clients_->transaction(client, round_trips_);
      if (!status.ok()) status_ = std::move(status);
      // Where nothing suspends, the others have their turn all the same.
      co_await thread_->reactor().yield();
    }
    if (--running_ == 0) done_.release();
  }

  std::unique_ptr<reactor::ReactorThread> thread_;
  std::uint64_t count_;
  std::unique_ptr<OracleClients> clients_;
  reactor::Gate gate_;
  fabric::OperationCounters before_;
  std::uint64_t round_trips_ = 0;
  std::uint64_t running_ = 0;
  Status status_;
  std::binary_semaphore done_{0};
};

std::uint16_t memory_servers(const Shape& shape) {
  return shape.oracle == kPartitioned ? kPartitions : 1;
}

support::ServerThreadOptions server_options(const Shape& shape, std::uint16_t server_id) {
  support::ServerThreadOptions options;
  options.transport = shape.transport;
  if (shape.oracle == kCounter) {
    options.region_bytes = kCounterRegion_bytes;
    return options;
  }
  memory::Options memory;
  memory.extent_bytes = kJournal_bytes;
  memory.journal_bytes = kJournal_bytes;
  memory.max_slots_per_peer = static_cast<std::uint32_t>(shape.clients);
  memory.vector_capacity = static_cast<std::uint32_t>(std::max<std::uint64_t>(shape.clients, 64));
  memory.server_id = server_id;
  memory.server_count = memory_servers(shape);
  if (memory.server_count > 1) memory.timestamp_vector = layout::VectorSpread::partitioned;
  options.region_bytes = (1U << 20) + (shape.clients + 1) * kJournal_bytes;
  options.memory_server = memory;
  return options;
}

Result<OracleReport> measure(const Shape& shape, const OracleBenchOptions& options) {
  std::vector<std::unique_ptr<support::ServerThread>> servers;
  std::vector<std::string> addresses;
  for (std::uint16_t id = 0; id < memory_servers(shape); ++id) {
    auto server = support::ServerThread::start(server_options(shape, id));
    if (!server.ok()) return server.status();
    servers.push_back(std::move(server).value());
    addresses.push_back(servers.back()->address());
  }
  std::unique_ptr<OracleScanner> scanner;
  if (shape.oracle == kCounter) scanner = std::make_unique<OracleScanner>(servers.front()->region());
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint64_t i = 0; i < shape.threads; ++i) {
    const std::uint64_t clients = shape.clients / shape.threads + (i < shape.clients % shape.threads ? 1 : 0);
    auto worker = Worker::start(shape, addresses, clients);
    if (!worker.ok()) return worker.status();
    workers.push_back(std::move(worker).value());
  }
  const std::uint64_t each = std::max<std::uint64_t>(options.transactions / shape.clients, 1);
  OracleReport report{shape.transport, shape.oracle, shape.clients};
  std::vector<double> rates;
  fabric::OperationCounters cost;
  std::uint64_t round_trips = 0;
  for (std::uint32_t round = 0; round <= options.repetitions; ++round) {
    const std::uint64_t begun_ns = support::steady_now_ns();
    for (const auto& worker : workers) worker->begin(each);
    for (const auto& worker : workers) {
      if (Status status = worker->wait(); !status.ok()) return status;
    }
    if (round == 0) continue;  // to warm up
    const auto duration_ns = static_cast<double>(support::steady_now_ns() - begun_ns);
    rates.push_back(static_cast<double>(each * shape.clients) * 1e9 / duration_ns);
    for (const auto& worker : workers) {
      cost += worker->cost();
      round_trips += worker->round_trips();
    }
  }
  std::sort(rates.begin(), rates.end());
  report.median_per_second = rates[rates.size() / 2];
  const auto all = static_cast<double>(each * shape.clients * options.repetitions);
  report.operations = static_cast<double>(cost.one_sided() + cost.calls) / all;
  report.round_trips = static_cast<double>(round_trips) / all;
  report.bytes = static_cast<double>(cost.bytes()) / all;
  return report;
}

}  // namespace

const std::vector<std::string>& oracle_names() {
  static const std::vector<std::string> names = {kCounter,     kVector,     kFetched,
                                                 kPartitioned, kCompressed, kCompressedFetched};
  return names;
}

Result<std::vector<OracleReport>> oracle_bench(const OracleBenchOptions& options,
                                               support::Progress& progress) {
  std::vector<OracleReport> reports;
  for (const std::string& transport : options.transports) {
    for (const std::string& oracle : options.oracles) {
      for (const std::uint64_t clients : options.clients) {
        if (clients < options.threads) {
          return Status(ErrorCode::invalid_parameter_value, "fewer clients than threads");
        }
        Result<OracleReport> report = measure({transport, oracle, clients, options.threads}, options);
        if (!report.ok()) return report.status();
        reports.push_back(std::move(report).value());
        progress.note(transport + ", " + oracle + ", " + std::to_string(clients) + " clients: done");
      }
    }
  }
  return reports;
}

}  // namespace namdb::nambench
