#include "tools/namsim/churn_run.h"

#include "common/layout/key.h"
#include "tools/namsim/cluster.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kClientsPerCompute = 2;
constexpr std::uint64_t kTransactionsPerClient = 120;

layout::Schema two_columns() {
  std::vector<layout::Column> columns(2);
  columns[0] = {.name = "id"};
  columns[1] = {.name = "value"};
  return std::move(*layout::Schema::create(std::move(columns), {0}));
}

struct Churn {
  fabric::sim::SimWorld& world;
  std::uint64_t keys;
  std::int64_t next_value = 1;
  std::uint64_t committed = 0;
  std::uint64_t running = 0;
  std::string anomaly;

  // Companion: 0 = the key is absent, otherwise its value.
  reactor::Task<Status> load(compute::Worker* worker) {
    txn::TableOptions options;
    options.size_hint_rows = 4;  // few buckets: chains grow
    Status status = co_await worker->create_table("churn", two_columns(), options);
    if (status.ok()) status = co_await worker->create_table("companion", two_columns(), options);
    if (!status.ok()) co_return status;
    auto table = co_await worker->table("companion");
    if (!table.ok()) co_return table.status();
    const auto session = worker->open_session();
    const auto transaction = worker->begin(*session);
    for (std::uint64_t key = 0; key < keys; ++key) {
      layout::Row row((*table)->schema);
      status = row.writer().set_integer(0, static_cast<std::int64_t>(key));
      if (status.ok()) status = row.writer().set_integer(1, 0);
      if (!status.ok()) co_return status;
      transaction->insert(*table, row.bytes());
    }
    status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->commit();
    co_return status;
  }

  reactor::Task<Status> attempt(compute::Worker* worker, txn::Session* session) {
    auto table = co_await worker->table("churn");
    if (!table.ok()) co_return table.status();
    auto companions = co_await worker->table("companion");
    if (!companions.ok()) co_return companions.status();
    const auto transaction = worker->begin(*session);
    const auto key = static_cast<std::int64_t>(world.random().below(keys));
    const layout::Key bytes = std::move(layout::Key((*table)->schema).integer(key));
    const layout::Key companion_bytes = std::move(layout::Key((*companions)->schema).integer(key));
    const txn::RowId row = transaction->get(*table, bytes.bytes());
    Status status;
    const bool apart = world.random().chance(0.3);
    if (apart) status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    const txn::RowId companion = transaction->get(*companions, companion_bytes.bytes());
    status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    if (!transaction->found(companion)) {
      anomaly = "companion " + std::to_string(key) + " is gone";
      co_return Status();
    }
    const std::int64_t says = transaction->row(companion).integer(1);
    const std::int64_t is = transaction->found(row) ? transaction->row(row).integer(1) : 0;
    if (says != is) {
      anomaly = "key " + std::to_string(key) + " is " + std::to_string(is) + ", its companion says " +
                std::to_string(says);
      co_return Status();
    }
    const std::int64_t value = next_value++;
    std::int64_t fresh = value;
    if (is == 0) {
      layout::Row image((*table)->schema);
      status = image.writer().set_integer(0, key);
      if (status.ok()) status = image.writer().set_integer(1, value);
      if (status.ok()) transaction->insert(*table, image.bytes());
      if (status.ok()) status = co_await transaction->fetch();
    } else if (world.random().chance(0.6)) {
      transaction->erase(row);
      fresh = 0;
    } else {
      status = transaction->update(row).set_integer(1, value);
    }
    if (status.ok()) status = transaction->update(companion).set_integer(1, fresh);
    if (!status.ok()) co_return status;
    co_return co_await transaction->commit();
  }

  reactor::Task<void> client(compute::Worker* worker, std::uint64_t transactions) {
    {
      const auto session = worker->open_session();
      for (std::uint64_t i = 0; i < transactions && anomaly.empty(); ++i) {
        const Status status = co_await attempt(worker, session.get());
        if (status.ok()) {
          ++committed;
        } else {
          if (!status.info().retry && anomaly.empty()) anomaly = status.to_string();
          co_await worker->backoff(1);
        }
        // Long enough apart for tombstones to be reclaimed in between.
        const std::uint64_t pause_ns = world.random().below(200 * kMicrosecond_ns);
        co_await worker->executor().sleep_for(pause_ns);
      }
    }
    --running;
  }
};

}  // namespace

layout::Schema churn_schema() {
  return two_columns();
}

ChurnVerdict run_churn(std::uint64_t seed, Interposer* interposer) {
  ChurnVerdict verdict;
  Random draw(seed * 104'729);
  fabric::sim::SimWorld world(seed, fabric::sim::SimOptions::swarm(draw));
  ClusterOptions options;
  options.memory_servers = static_cast<std::uint32_t>(draw.between(1, 2));
  options.memory = memory::swarm_options(draw, 0.3);
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.max_transaction_ns = 10 * kSecond_ns;
  options.memory.heartbeat_timeout_ns = 0;
  options.memory.collect_interval_ns = draw.between(20, 500) * kMicrosecond_ns;
  options.memory.reuse_interval_ns = options.memory.collect_interval_ns;
  options.worker.snapshot_mode =
      draw.chance(0.5) ? txn::SnapshotSource::Mode::call : txn::SnapshotSource::Mode::reads;
  options.worker.heartbeat_ns = draw.between(50, 1000) * kMicrosecond_ns;
  options.interposer = interposer;
  Cluster cluster(world, options);
  Churn churn{.world = world, .keys = draw.between(2, 40)};
  const std::size_t computes = draw.between(1, 3);
  for (std::size_t i = 0; i < computes; ++i) cluster.add_compute();
  const Status loaded = world.run(cluster.node(0), churn.load(&cluster.worker(0)));
  if (!loaded.ok()) {
    verdict.anomaly = "load: " + loaded.to_string();
    return verdict;
  }
  std::vector<std::unique_ptr<reactor::Gate>> gates;
  for (std::size_t i = 0; i < computes; ++i) {
    gates.push_back(std::make_unique<reactor::Gate>());
    for (std::uint64_t k = 0; k < kClientsPerCompute; ++k) {
      ++churn.running;
      cluster.node(i).spawn(*gates.back(), churn.client(&cluster.worker(i), kTransactionsPerClient));
    }
  }
  if (!world.run_until([&] { return churn.running == 0; }, 600 * kSecond_ns) && churn.anomaly.empty())
    churn.anomaly = "the clients did not finish";
  verdict.anomaly = churn.anomaly;
  verdict.committed = churn.committed;
  for (std::uint32_t i = 0; i < options.memory_servers; ++i)
    verdict.reclaimed += cluster.memory(i).server->status().records_reclaimed();
  for (std::size_t i = 0; i < computes && verdict.anomaly.empty(); ++i) {
    if (!cluster.stop_compute(i, 600 * kSecond_ns)) verdict.anomaly = "a compute server does not stop";
  }
  if (verdict.anomaly.empty()) verdict.anomaly = cluster.check_at_rest(600 * kSecond_ns);
  if (!verdict.anomaly.empty()) {
    // Something may wait for ever: it cannot be stopped in order.
    for (std::size_t i = 0; i < computes; ++i) {
      if (cluster.alive(i)) cluster.kill_compute(i);
    }
    for (auto& gate : gates) fabric::sim::SimWorld::bury(std::move(gate));
  }
  return verdict;
}

}  // namespace namdb::sim
