// Bucket chains are latches: commits that insert different keys into one chain wait for each other, and none
// is a conflict to the other (compute/commit/chain_locks.h).
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;

constexpr const char* kLoaded = "loaded";
constexpr std::int64_t kTransactions = 12;
constexpr std::int64_t kMostRows = 8;

struct Loads {
  std::uint64_t committed = 0;
  std::vector<std::string> failures;
};

// Transactions that insert some rows each, of keys that no other transaction has. None is tried twice.
Task<void> load(txn::Engine* engine, std::int64_t loader, Loads* loads) {
  Random random(static_cast<std::uint64_t>(loader) + 1);
  const auto session = engine->open_session();
  const auto table = co_await engine->table(kLoaded);
  Status status = table.status();
  std::int64_t id = loader * kTransactions * kMostRows;
  for (std::int64_t i = 0; i < kTransactions && table.ok(); ++i) {
    const auto transaction = engine->begin(*session);
    const std::int64_t end = id + static_cast<std::int64_t>(random.between(1, kMostRows));
    status = Status();
    for (; id < end && status.ok(); ++id) status = insert_pair(*transaction, *table, id, 0);
    if (status.ok()) status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->commit();
    if (status.ok()) ++loads->committed;
    if (!status.ok()) loads->failures.push_back(status.to_string());
  }
}

}  // namespace

TEST_CASE("inserts of different keys into one bucket chain are no conflict under any protocol", "[latch]") {
  struct Setup {
    std::string_view protocol;
    std::string_view stages;
  };
  const Setup setup =
      GENERATE(Setup{"si", "one-sided"}, Setup{"si", "two-sided"}, Setup{"occ", "one-sided"},
               Setup{"nowait", "one-sided"}, Setup{"waitdie", "two-sided"}, Setup{"sundial", "one-sided"},
               Setup{"mvcc", "one-sided"}, Setup{"drtm", "one-sided"}, Setup{"calvin", "one-sided"});
  CAPTURE(setup.protocol, setup.stages);
  fabric::sim::SimWorld world(3);
  ClusterOptions options;
  options.memory_servers = 2;
  options.region_bytes = 64U << 20;
  options.memory.protocol = setup.protocol;
  options.memory.stages = *protocol::StageCode::parse(setup.stages);
  Cluster cluster(world, options);
  constexpr std::size_t kComputes = 3;
  constexpr std::size_t kSessions = 4;
  for (std::size_t i = 0; i < kComputes; ++i) cluster.add_compute();
  // Few chains, which grow as they are filled.
  REQUIRE(
      world.run(cluster.node(0), create_table(cluster.worker(0), kLoaded, bigints({"id", "value"}), 16, 4))
          .ok());
  Loads loads;
  reactor::Gate gate;
  for (std::size_t i = 0; i < kComputes * kSessions; ++i) {
    const std::size_t compute = i % kComputes;
    cluster.node(compute).spawn(gate, load(&cluster.worker(compute), static_cast<std::int64_t>(i), &loads));
  }
  REQUIRE(world.run_until([&] { return gate.count() == 0; }, 60 * kSecond_ns));
  CAPTURE(loads.failures);
  CHECK(loads.failures.empty());
  CHECK(loads.committed == kComputes * kSessions * kTransactions);
  for (std::size_t i = 0; i < kComputes; ++i) REQUIRE(cluster.stop_compute(i, 10 * kSecond_ns));
  CHECK(cluster.check_at_rest(60 * kSecond_ns).empty());
}

}  // namespace namdb::sim
