// Snapshot isolation under contention, hostile options and dying compute servers: many seeds, each a whole
// cluster, each history checked. NAMDB_SEEDS and NAMDB_FIRST_SEED run more than the fixed ones.
#include <catch2/catch.hpp>

#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

void run_seeds(const char* workload, std::uint64_t kills, std::uint64_t default_count) {
  const auto [first, count] = Seeds(default_count);
  std::uint64_t committed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Scenario scenario = Scenario::of_seed(seed, workload);
    scenario.resize({.kills = kills});
    const Verdict verdict = run_scenario(scenario, history::strict_snapshot_isolation());
    INFO("namsim run " << scenario.flags());
    REQUIRE(verdict.anomaly == "");
    committed += verdict.committed;
  }
  CHECK(committed > count * 10);
}

}  // namespace

TEST_CASE("histories under contention are snapshot isolated", "[isolation]") {
  run_seeds("register", 0, 150);
}

TEST_CASE("histories stay snapshot isolated and nothing stays locked when compute servers die",
          "[isolation]") {
  run_seeds("register", 2, 150);
}

TEST_CASE("rows that come and go agree with their companions, and their memory is used again",
          "[isolation]") {
  run_seeds("churn", 0, 60);
}

TEST_CASE("histories are snapshot isolated under each workload, kill and fault that seeds draw",
          "[isolation]") {
  const auto [first, count] = Seeds(100);
  FaultCounts happened{};
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Scenario scenario = Scenario::of_seed(seed);
    INFO("namsim run " << scenario.flags());
    REQUIRE(scenario.use_faults(draw_faults(seed), "seed").ok());
    const Verdict verdict = run_and_compare(scenario, history::strict_snapshot_isolation());
    REQUIRE(verdict.anomaly == "");
    for (std::size_t kind = 0; kind < happened.size(); ++kind) happened[kind] += verdict.happened[kind];
  }
  for (std::size_t kind = 0; kind < Fault::kAnyCluster && count >= 100; ++kind) {
    INFO(Fault::kind_name(static_cast<Fault::Kind>(kind)));
    CHECK(happened[kind] > 0);
  }
}

// Seeds that failed once, each with the fault that it showed. Their runs must not fail again.
TEST_CASE("seeds that have failed", "[isolation]") {
  const std::vector<std::pair<std::uint64_t, std::string>> seeds{
      // One link was lost while a slot was on its way out: another slot was asked for, beyond what a
      // channel may hold, and the client got that as its error.
      {12'195, "register"},
      {18'212, "write-skew"},
      // A lock of a bucket that was forwarded was asked for again in the batch that released it.
      {20'003'722, "churn"},
  };
  for (const auto& [seed, workload] : seeds) {
    Scenario scenario = Scenario::of_seed(seed, workload);
    INFO("namsim run " << scenario.flags() << " --faults seed");
    REQUIRE(scenario.use_faults(draw_faults(seed), "seed").ok());
    CHECK(run_and_compare(scenario, history::strict_snapshot_isolation()).anomaly == "");
  }
}

}  // namespace namdb::sim
