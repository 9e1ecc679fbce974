// A cluster in the simulator with two compute servers and one table, for tests of what each of them knows of
// the catalog.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <utility>

#include "compute/api/transaction.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {

inline constexpr std::uint64_t kPatience_ns = 20 * kSecond_ns;  // several times max_reconnect_ns

inline reactor::Task<void> note_end(reactor::Task<Status> change, Status* ended) {
  *ended = co_await std::move(change);
}

class TwoComputes {
 public:
  static constexpr const char* kTable = "t";

  // `durable`: the memory servers keep a database on disk.
  explicit TwoComputes(std::uint64_t seed, bool durable = false, std::uint32_t memory_servers = 1)
      : world(seed), cluster(std::make_unique<Cluster>(world, options(durable, memory_servers))) {
    for (int compute = 0; compute < 2; ++compute) cluster->add_compute();
    REQUIRE(run(0, create_table(worker(0), kTable, bigints({"id"}), 50, 0)).ok());
    REQUIRE(read(1).ok());
  }

  template <typename T>
  T run(std::size_t compute, reactor::Task<T> task) {
    return world.run(cluster->node(compute), std::move(task));
  }
  compute::Worker& worker(std::size_t compute) { return cluster->worker(compute); }
  // A transaction of that compute server, which shows it a catalog that has changed.
  Status read(std::size_t compute) { return run(compute, read_row(&worker(compute))); }

  fabric::sim::SimWorld world;
  std::unique_ptr<Cluster> cluster;

 private:
  static ClusterOptions options(bool durable, std::uint32_t memory_servers) {
    ClusterOptions options;
    options.memory_servers = memory_servers;
    options.memory.extent_bytes = 64U << 10;
    options.memory.journal_bytes = 128U << 10;
    options.durable = durable;
    return options;
  }
  static reactor::Task<Status> read_row(compute::Worker* worker) {
    const auto table = co_await worker->table(kTable);
    if (!table.ok()) co_return table.status();
    const auto session = worker->open_session();
    const auto transaction = worker->begin(*session);
    transaction->read(*table, key_of((*table)->schema, 1).bytes());
    if (Status status = co_await transaction->fetch(); !status.ok()) co_return status;
    co_return co_await transaction->commit();
  }
};

}  // namespace namdb::sim
