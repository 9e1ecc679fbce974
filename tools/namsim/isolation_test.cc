// Snapshot isolation under contention, hostile options and dying compute servers: many seeds, each a whole
// cluster, each history checked. NAMDB_SEEDS and NAMDB_FIRST_SEED run more than the fixed ones.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tools/namsim/scenario.h"

namespace namdb::sim {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

void run_seeds(std::uint64_t kills, std::uint64_t default_count) {
  const std::uint64_t first = number_from_environment("NAMDB_FIRST_SEED", 1);
  const std::uint64_t count = number_from_environment("NAMDB_SEEDS", default_count);
  std::uint64_t committed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Scenario scenario = Scenario::of_seed(seed, "register");
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
  run_seeds(0, 150);
}

TEST_CASE("histories stay snapshot isolated and nothing stays locked when compute servers die",
          "[isolation]") {
  run_seeds(2, 150);
}

TEST_CASE("whatever workload and number of kills the seed draws is snapshot isolated", "[isolation]") {
  const std::uint64_t first = number_from_environment("NAMDB_FIRST_SEED", 1);
  const std::uint64_t count = number_from_environment("NAMDB_SEEDS", 100);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Scenario scenario = Scenario::of_seed(seed);
    INFO("namsim run " << scenario.flags());
    REQUIRE(run_scenario(scenario, history::strict_snapshot_isolation()).anomaly == "");
  }
}

}  // namespace namdb::sim
