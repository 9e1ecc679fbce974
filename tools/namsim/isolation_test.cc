// Snapshot isolation under contention, hostile options and dying compute servers: many seeds, each a whole
// cluster, each history checked. NAMDB_SEEDS and NAMDB_FIRST_SEED run more than the fixed ones.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tools/namsim/cluster.h"
#include "tools/namsim/history/check.h"
#include "tools/namsim/register_workload.h"

namespace namdb::sim {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

struct Run {
  std::uint64_t seed;
  bool kills;
  std::uint64_t committed = 0;
  std::uint64_t fingerprint = 0;
  std::string anomaly;
};

reactor::Task<void> client(RegisterWorkload* workload, compute::Worker* worker, std::uint64_t session_id,
                           std::uint64_t transactions, std::uint64_t* committed, std::uint64_t* running) {
  {
    const auto session = worker->open_session();
    for (std::uint64_t i = 0; i < transactions; ++i) {
      const bool ok = co_await workload->run_one(*worker, *session, session_id);
      if (ok) {
        ++*committed;
      } else {
        co_await worker->backoff(1);
      }
    }
  }
  --*running;
}

void execute(Run& run) {
  Random draw(run.seed * 7919);
  fabric::sim::SimOptions network = fabric::sim::SimOptions::swarm(draw);
  if (draw.chance(0.3)) {
    // READs so slow that whole commits fit between two words of the timestamp vector.
    network.tear_steps = 8;
    network.tear_gap_ns = 50'000;
  }
  fabric::sim::SimWorld world(run.seed, network);
  ClusterOptions options;
  options.memory_servers = static_cast<std::uint32_t>(draw.between(1, 3));
  options.memory = memory::swarm_options(draw, 0.3);
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.max_transaction_ns = 10 * kSecond_ns;
  options.memory.heartbeat_timeout_ns = 0;
  options.worker.snapshot_mode =
      draw.chance(0.5) ? txn::SnapshotSource::Mode::call : txn::SnapshotSource::Mode::reads;
  options.worker.heartbeat_ns = draw.chance(0.5) ? kMillisecond_ns : 20 * kMillisecond_ns;
  if (draw.chance(0.3)) options.worker.slot.counters_per_slot = 3;
  Cluster cluster(world, options);
  history::History history(history::Model::registers);
  RegisterWorkload workload(world, history, {.keys = draw.between(2, 8)});
  const std::size_t computes = draw.between(1, 3);
  for (std::size_t i = 0; i < computes; ++i) cluster.add_compute();
  const Status loaded = world.run(cluster.node(0), workload.load(cluster.worker(0)));
  if (!loaded.ok()) {
    run.anomaly = "load: " + loaded.to_string();
    return;
  }
  std::uint64_t running = 0;
  std::uint64_t sessions = 0;
  std::vector<std::unique_ptr<reactor::Gate>> gates;
  const auto start_clients = [&](std::size_t compute) {
    gates.push_back(std::make_unique<reactor::Gate>());
    const std::uint64_t clients = draw.between(1, 3);
    for (std::uint64_t i = 0; i < clients; ++i) {
      ++running;
      cluster.node(compute).spawn(*gates.back(), client(&workload, &cluster.worker(compute), sessions++,
                                                        draw.between(10, 25), &run.committed, &running));
    }
    return clients;
  };
  std::vector<std::uint64_t> clients_of;
  for (std::size_t i = 0; i < computes; ++i) clients_of.push_back(start_clients(i));
  if (run.kills) {
    for (int kill = 0; kill < 2; ++kill) {
      const std::size_t victim = kill == 0 ? 0 : computes;
      const std::uint64_t before = history.transactions().size() + draw.between(1, 30);
      world.run_until([&] { return history.transactions().size() >= before || running == 0; });
      world.run_for(draw.below(20'000));
      if (running == 0) break;
      // Clients of the victim never end: count only those of others.
      const std::uint64_t left = gates[victim]->count();
      running -= left;
      cluster.kill_compute(victim);
      fabric::sim::SimWorld::bury(std::move(gates[victim]));
      const std::size_t fresh = cluster.add_compute();
      clients_of.push_back(start_clients(fresh));
    }
  }
  if (!world.run_until([&] { return running == 0; }, 600 * kSecond_ns)) {
    run.anomaly = "the clients did not finish";
  }
  std::size_t survivor = 0;
  while (!cluster.alive(survivor)) ++survivor;
  if (run.anomaly.empty()) {
    const Status touched = world.run(cluster.node(survivor), workload.touch_all(cluster.worker(survivor)));
    if (!touched.ok()) run.anomaly = "a key stays out of reach: " + touched.to_string();
  }
  if (run.anomaly.empty())
    run.anomaly = history::first_anomaly(history::check(history, {.all_reads = true}), history);
  if (run.anomaly.empty() && workload.versions_missed() > 0) run.anomaly = "a version was lost";
  run.fingerprint = world.fingerprint();
}

void run_seeds(bool kills, std::uint64_t default_count) {
  const std::uint64_t first = number_from_environment("NAMDB_FIRST_SEED", 1);
  const std::uint64_t count = number_from_environment("NAMDB_SEEDS", default_count);
  std::uint64_t committed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Run run{.seed = seed, .kills = kills};
    execute(run);
    INFO("seed " << seed << (kills ? " with kills" : "") << ": " << run.anomaly);
    REQUIRE(run.anomaly.empty());
    committed += run.committed;
  }
  CHECK(committed > count * 10);
}

}  // namespace

TEST_CASE("histories under contention are snapshot isolated", "[isolation]") {
  run_seeds(false, 150);
}

TEST_CASE("histories stay snapshot isolated and nothing stays locked when compute servers die",
          "[isolation]") {
  run_seeds(true, 150);
}

TEST_CASE("the same seed gives the same run", "[isolation]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Run first{.seed = seed, .kills = true};
    Run second{.seed = seed, .kills = true};
    execute(first);
    execute(second);
    CHECK(first.fingerprint == second.fingerprint);
    CHECK(first.committed == second.committed);
  }
}

}  // namespace namdb::sim
