#include "tools/nambench/engine/engine_host.h"

#include <sys/random.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/cluster_key.h"
#include "common/reactor/reactor.h"
#include "compute/cluster/location_cache.h"
#include "compute/txn/snapshot_fetcher.h"
#include "compute/worker/worker.h"
#include "tools/support/servers/transports.h"

namespace namdb::nambench {
namespace {

txn::ComputeId random_id() {
  txn::ComputeId id;
  NAMDB_CHECK(::getrandom(id.data(), id.size(), 0) == static_cast<ssize_t>(id.size()));
  return id;
}

reactor::Task<void> start(compute::Worker& worker, Status& status) {
  status = co_await worker.start();
}
reactor::Task<void> stop(compute::Worker& worker) {
  co_await worker.stop();
}

// All rows of the tables, as one snapshot shows them.
struct TableScans {
  std::vector<std::string> tables;
  std::function<void()> restart;                      // before the first row, of each attempt
  std::function<Status(const layout::Schema&)> open;  // before the rows of each table
  support::DatabaseView::TakeRow take;
};

reactor::Task<Status> scan_tables(txn::Engine& engine, TableScans& scans) {
  const std::unique_ptr<txn::Session> session = engine.open_session();
  const std::unique_ptr<txn::Transaction> transaction = engine.begin(*session);
  for (std::size_t i = 0; i < scans.tables.size(); ++i) {
    const Result<storage::TableRef> table = co_await engine.table(scans.tables[i]);
    if (!table.ok()) co_return table.status();
    Status status = scans.open(table.value()->schema);
    if (!status.ok()) co_return status;
    const std::unique_ptr<txn::TableScan> scan = transaction->scan(table.value());
    std::vector<layout::Row> rows;
    do {
      status = co_await scan->next(rows);
      if (!status.ok()) co_return status;
      for (const layout::Row& row : rows) scans.take(i, row.view());
    } while (!rows.empty());
  }
  co_return Status();
}

// Scans may meet what any transaction may meet.
reactor::Task<void> scan_with_retries(txn::Engine& engine, TableScans& scans, Status& status) {
  for (std::uint32_t attempt = 1;; ++attempt) {
    scans.restart();
    status = co_await scan_tables(engine, scans);
    if (status.ok() || !status.info().retry || attempt >= engine.retry_options().max_attempts) co_return;
    co_await engine.backoff(attempt);
  }
}

reactor::Task<void> look_at_partition(txn::Engine& engine, std::string name, bool& partitioned,
                                      Status& status) {
  const Result<storage::TableRef> table = co_await engine.table(std::move(name));
  if (!table.ok()) status = table.status();
  partitioned = table.ok() && !table.value()->schema.partition().empty();
}

}  // namespace

struct EngineHost::Parts {
  explicit Parts(std::size_t cache_bytes) : locations(cache_bytes) {}
  std::unique_ptr<reactor::Reactor> reactor;
  std::unique_ptr<fabric::ClientFabric> client;
  storage::LocationCache locations;
  std::optional<txn::StageTimes> stage_times;
  std::unique_ptr<compute::Worker> worker;
  bool started = false;
};

EngineHost::EngineHost(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

EngineHost::~EngineHost() {
  if (parts_->started) parts_->reactor->run_until(stop(*parts_->worker));
}

txn::Engine& EngineHost::engine() {
  return *parts_->worker;
}

txn::StageTimes* EngineHost::stage_times() {
  return parts_->stage_times ? &*parts_->stage_times : nullptr;
}

void EngineHost::run(reactor::Task<void> task) {
  parts_->reactor->run_until(std::move(task));
}

Result<std::unique_ptr<EngineHost>> EngineHost::open(const EngineHostOptions& options) {
  auto parts = std::make_unique<Parts>(options.location_cache_bytes);
  auto reactor = reactor::Reactor::create();
  if (!reactor.ok()) return reactor.status();
  parts->reactor = std::move(reactor).value();
  fabric::tcp::TcpOptions tcp;
  tcp.encryption = fabric::tcp::encryption_of(options.fabric_encryption);
  if (!options.cluster_key_file.empty()) {
    Result<fabric::ClusterKey> key = fabric::read_cluster_key(options.cluster_key_file);
    if (!key.ok()) return key.status();
    tcp.key = key.value();
  }
  const fabric::TransportRegistry registry = support::transports(*parts->reactor, tcp);
  if (options.memory_servers.empty()) return Status(ErrorCode::configuration, "no memory server was named");
  const Result<const fabric::Transport*> transport = registry.for_address(options.memory_servers.front());
  if (!transport.ok()) return transport.status();
  parts->client = transport.value()->make_client();

  compute::WorkerOptions worker;
  worker.memory_servers = options.memory_servers;
  worker.name = "nambench";
  worker.snapshot_mode = support::snapshot_mode(transport.value()->name);
  worker.snapshot_sharing = txn::snapshot_sharing_of(options.snapshots);
  worker.index_reads = txn::index_reads_of(options.index_reads, transport.value()->name);
  worker.scan_reads = txn::scan_reads_of("auto");
  worker.lock_time = txn::lock_time_of(options.lock_at);
  worker.optimisations = txn::Optimisations::without(options.without).value_or(txn::Optimisations());
  worker.slot.slots = options.slots_per_worker;
  worker.commit_writes = options.whole_writes ? txn::CommitWrites::whole : txn::CommitWrites::changed;
  if (options.stage_times) worker.stage_times = &parts->stage_times.emplace();
  parts->worker = std::make_unique<compute::Worker>(
      *parts->reactor, *parts->client, parts->locations, std::move(worker), random_id,
      [](const std::string& line) { std::fprintf(stderr, "nambench: %s\n", line.c_str()); });
  Status status;
  parts->reactor->run_until(start(*parts->worker, status));
  if (!status.ok()) {
    return Status(ErrorCode::connection_failure,
                  "no memory server at " + options.memory_servers.front() + ": " + status.message(),
                  status.hint());
  }
  parts->started = true;
  return std::unique_ptr<EngineHost>(new EngineHost(std::move(parts)));
}

Result<std::int64_t> EngineView::count(const std::string& table) {
  return sum(table, {});
}

Result<std::int64_t> EngineView::sum(const std::string& table, const layout::Column& column) {
  std::int64_t value = 0;
  std::optional<std::uint32_t> position;
  TableScans scans{.tables = {table}, .restart = [&] { value = 0; }, .open = {}, .take = {}};
  scans.open = [&](const layout::Schema& schema) {
    if (column.name.empty()) return Status();
    position = schema.find(column.name);
    if (position) return Status();
    return Status(ErrorCode::undefined_column, "no column " + column.name + " in " + table);
  };
  scans.take = [&](std::size_t, const layout::RowView& row) {
    value += position ? row.integer(*position) : 1;
  };
  Status status;
  host_.run(scan_with_retries(host_.engine(), scans, status));
  if (!status.ok()) return status;
  return value;
}

Result<bool> EngineView::partitioned(const std::string& table) {
  bool partitioned = false;
  Status status;
  host_.run(look_at_partition(host_.engine(), table, partitioned, status));
  if (!status.ok()) return status;
  return partitioned;
}

Result<std::uint32_t> EngineView::memory_servers() {
  return host_.engine().placement().memory_servers;
}

Status EngineView::scan(std::span<const workloads::TableLoad> tables, const std::function<void()>& restart,
                        const TakeRow& take) {
  TableScans scans{.tables = {}, .restart = restart, .open = {}, .take = take};
  scans.open = [](const layout::Schema&) { return Status(); };
  for (const workloads::TableLoad& table : tables) scans.tables.push_back(table.spec.name);
  Status status;
  host_.run(scan_with_retries(host_.engine(), scans, status));
  return status;
}

}  // namespace namdb::nambench
