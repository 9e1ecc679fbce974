// Memory servers that restart empty, and memory servers of another cluster: compute servers notice, say so,
// and start over once all memory servers are new.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using fabric::sim::SimWorld;
using reactor::Task;

constexpr std::uint64_t kPatience_ns = 20 * kSecond_ns;  // several times max_reconnect_ns

Task<Status> create(compute::Worker* worker) {
  const layout::Schema schema = bigints({"id", "value"});
  co_return co_await create_table(*worker, "counter", schema, 512, 0);
}

// Enough rows for every memory server to get some.
Task<Status> fill(compute::Worker* worker) {
  const auto session = worker->open_session();
  auto table = co_await worker->table("counter");
  if (!table.ok()) co_return table.status();
  auto transaction = worker->begin(*session);
  for (std::int64_t id = 0; id < 50; ++id) {
    layout::Row row((*table)->schema);
    REQUIRE(row.writer().set_integer(0, id).ok());
    REQUIRE(row.writer().set_integer(1, id).ok());
    transaction->insert(*table, row.bytes());
  }
  if (Status status = co_await transaction->fetch(); !status.ok()) co_return status;
  co_return co_await transaction->commit();
}

struct Restarts {
  explicit Restarts(std::uint64_t seed, std::uint32_t memory_servers, std::uint64_t memory_timeout_ns = 0,
                    layout::VectorSpread timestamp_vector = layout::VectorSpread::whole)
      : world(seed) {
    options.memory_servers = memory_servers;
    options.memory.timestamp_vector = timestamp_vector;
    options.worker.memory_timeout_ns = memory_timeout_ns;
    options.memory.extent_bytes = 64U << 10;
    options.memory.journal_bytes = 128U << 10;
    options.log = [this](const std::string& line) { log.push_back(line); };
    cluster = std::make_unique<Cluster>(world, options);
    cluster->add_compute();
    cluster->add_compute();
  }
  Status run(Task<Status> (*task)(compute::Worker*), std::size_t compute = 0) {
    return world.run(cluster->node(compute), task(&cluster->worker(compute)));
  }
  long logged(const std::string& text) const {
    return std::count_if(log.begin(), log.end(),
                         [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }

  SimWorld world;
  ClusterOptions options;
  std::vector<std::string> log;
  std::unique_ptr<Cluster> cluster;
};

}  // namespace

TEST_CASE(
    "a memory server that restarted alone is noticed; when all were restarted, in any order, all starts over",
    "[engine]") {
  const std::vector<std::vector<std::size_t>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  // A part of the vector that came back empty would make what others hold invisible: it must not be used.
  const auto timestamp_vector = GENERATE(layout::VectorSpread::whole, layout::VectorSpread::partitioned);
  std::uint64_t seed = 0;
  for (const std::vector<std::size_t>& order : orders) {
    Restarts test(++seed, 3, 0, timestamp_vector);
    INFO("the first to restart is " << order[0] << ", then " << order[1]);
    REQUIRE(test.run(create).ok());
    REQUIRE(test.run(fill).ok());
    for (std::size_t i = 0; i < order.size(); ++i) {
      test.cluster->restart_memory(order[i]);
      test.world.run_for(kPatience_ns);
      if (i + 1 == order.size()) break;
      for (std::size_t compute = 0; compute < 2; ++compute) {
        CHECK_FALSE(test.cluster->worker(compute).ready());
        // Neither "it is there already" nor "there is no such table".
        CHECK(test.run(create, compute).code() == ErrorCode::connection_failure);
        CHECK(test.run(fill, compute).code() == ErrorCode::connection_failure);
      }
    }
    CHECK(test.logged("restart all memory servers") + test.logged("restart memory server") > 0);
    // Not said again at every attempt: each compute server lost one connection, had at most two reasons after
    // each restart, and in the end three new servers and a connection.
    CHECK(test.log.size() <= 2 * (1 + 2 * 3 + 3 + 1));
    for (std::size_t compute = 0; compute < 2; ++compute) REQUIRE(test.cluster->worker(compute).ready());
    for (std::size_t server = 0; server < 3; ++server) {
      CHECK(test.logged("memory server " + std::to_string(server) + " has restarted and is empty") >= 2);
    }
    CHECK(test.run(fill).code() == ErrorCode::undefined_table);
    REQUIRE(test.run(create).ok());
    REQUIRE(test.run(fill, 1).ok());
  }
}

TEST_CASE("the restart of the only memory server is logged, and all starts over", "[engine]") {
  Restarts test(1, 1);
  REQUIRE(test.run(create).ok());
  test.cluster->restart_memory(0);
  test.world.run_for(kPatience_ns);
  CHECK(test.logged("memory server 0 has restarted and is empty") == 2);  // by each of two
  REQUIRE(test.run(create).ok());
  REQUIRE(test.run(fill, 1).ok());
}

TEST_CASE("memory servers of two clusters are not mixed", "[engine]") {
  SimWorld world(3);
  ClusterOptions options;
  options.memory_servers = 2;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  Cluster ours(world, options);
  options.memory_name = "n";
  Cluster theirs(world, options);
  ours.add_compute();
  theirs.add_compute();

  fabric::sim::SimNode& node = world.add_node("mixed");
  storage::LocationCache locations(64U << 10);
  fabric::sim::SimClientFabric fabric(node);
  compute::WorkerOptions worker_options;
  worker_options.memory_servers = {ours.memory_address(0), theirs.memory_address(1)};
  compute::Worker mixed(
      node, fabric, locations, worker_options, [] { return txn::ComputeId{std::byte{7}}; },
      [](const std::string&) {});
  const Status status = world.run(node, mixed.start());
  CHECK(status.code() == ErrorCode::memory_server_restarted);
  CHECK(status.message().find("memory server 1 belongs to another cluster") != std::string::npos);
  // Neither cluster has taken harm.
  CHECK(ours.try_add_compute().ok());
  CHECK(theirs.try_add_compute().ok());
}

TEST_CASE("a memory server that does not answer is given up after the timeout, and found again when it does",
          "[engine]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Restarts test(seed, 2, kSecond_ns);
    REQUIRE(test.run(create).ok());
    // Silence for less than that has no effect.
    const std::size_t silent = seed % 2;
    test.world.pause(*test.cluster->memory(silent).node, kSecond_ns / 2);
    test.world.run_for(2 * kSecond_ns);
    REQUIRE(test.logged("has not answered") == 0);

    test.world.pause(*test.cluster->memory(silent).node, 30 * kSecond_ns);
    const std::uint64_t before_ns = test.world.now_ns();
    const Status status = test.run(fill);
    INFO("seed " << seed << ": " << status.to_string());
    REQUIRE(status.code() == ErrorCode::connection_failure);
    REQUIRE(test.world.now_ns() - before_ns < 3 * kSecond_ns);
    const std::string reason = "memory server " + std::to_string(silent) + " has not answered for 1000 ms";
    REQUIRE(test.world.run_until([&] { return test.logged(reason) == 2; }, 3 * kSecond_ns));
    test.world.run_for(60 * kSecond_ns);
    REQUIRE(test.run(fill, 1).ok());
    for (const std::size_t compute : {0, 1}) REQUIRE(test.cluster->stop_compute(compute, kPatience_ns));
    const std::string wrong = test.cluster->check_at_rest(kPatience_ns);
    INFO(wrong);
    REQUIRE(wrong.empty());
  }
}

}  // namespace namdb::sim
