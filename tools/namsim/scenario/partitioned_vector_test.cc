// Databases whose timestamp vector is partitioned over their memory servers: snapshots are as strict as those
// of a whole vector, under faults and dying compute servers too. NAMDB_SEEDS and NAMDB_FIRST_SEED run more
// than the fixed seeds.
#include <catch2/catch.hpp>

#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

struct Runs {
  std::string_view protocol;
  const char* workload;
  bool faults;
};

struct Regression {
  std::uint64_t seed;
  const char* workload;
  Size size;
};

}  // namespace

TEST_CASE("histories are as isolated as the protocol promises when the timestamp vector is partitioned",
          "[partitioned]") {
  const Runs runs = GENERATE(Runs{"si", "register", false}, Runs{"si", "register", true},
                             Runs{"si", "append", true}, Runs{"si", "bank", false}, Runs{"si", "bank", true},
                             Runs{"si", "churn", true}, Runs{"si", "ring", true}, Runs{"si", "wire", true},
                             Runs{"occ", "register", true}, Runs{"mvcc", "bank", true});
  CAPTURE(runs.protocol, runs.workload, runs.faults);
  const auto [first, count] = Seeds(25);
  std::uint64_t committed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Scenario scenario = Scenario::of_seed(seed, runs.workload);
    scenario.cluster.memory.protocol = runs.protocol;
    scenario.cluster.memory.timestamp_vector = layout::VectorSpread::partitioned;
    scenario.resize({.memory_servers = 2 + seed % 2});
    if (runs.faults) REQUIRE(scenario.use_faults(draw_faults(seed), "seed").ok());
    INFO("namsim run " << scenario.flags());
    const Verdict verdict = run_and_compare(scenario, promised_level(runs.protocol));
    REQUIRE(verdict.anomaly == "");
    committed += verdict.committed;
  }
  CHECK(committed > count * 5);
}

// Slots of three commits: leased, placed and closed all the time, many at once, on all parts.
TEST_CASE("slots come and go on all parts of the timestamp vector", "[partitioned]") {
  const auto [first, count] = Seeds(25);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Scenario scenario = Scenario::of_seed(seed, "register", Emphasis::short_slots);
    scenario.cluster.memory.timestamp_vector = layout::VectorSpread::partitioned;
    scenario.resize({.memory_servers = 2 + seed % 2, .kills = seed % 3});
    INFO("namsim run " << scenario.flags());
    REQUIRE(run_and_compare(scenario, history::strict_snapshot_isolation()).anomaly == "");
  }
}

// Transactions as old as E, rings of one version, slots that are retired while others run: positions and
// their words are used again.
TEST_CASE("old versions stay as long as snapshots of a partitioned timestamp vector need them",
          "[partitioned]") {
  const Emphasis emphasis = GENERATE(Emphasis::old_versions, Emphasis::short_age);
  const auto [first, count] = Seeds(20);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Scenario scenario = Scenario::of_seed(seed, "register", emphasis);
    scenario.cluster.memory.timestamp_vector = layout::VectorSpread::partitioned;
    if (seed % 2 == 0) {
      scenario.cluster.worker.slot.counters_per_slot = 3;
      scenario.cluster.memory.vector_capacity = 1024;
      scenario.workload_options.full_region = true;
    }
    scenario.resize({.memory_servers = 2 + seed % 2});
    INFO("namsim run " << scenario.flags() << ", slots of "
                       << scenario.cluster.worker.slot.counters_per_slot);
    REQUIRE(run_and_compare(scenario, history::strict_snapshot_isolation()).anomaly == "");
  }
}

// Memory server 0 knows of its own slots' commits at once and of the others' from copies: a newer version was
// freed before an older one of its record, which was then out of reach. Without OldVersions' order these
// fail.
TEST_CASE("of one record the older version is freed first, whichever slot displaced it", "[partitioned]") {
  const auto [seed, workload, size] = GENERATE(
      Regression{
          7002304,
          "register",
          {.memory_servers = 2, .computes = 3, .clients = 3, .transactions = 25, .keys = 3, .kills = 1}},
      Regression{
          7014668,
          "tpcc",
          {.memory_servers = 3, .computes = 1, .clients = 3, .transactions = 25, .keys = 7, .kills = 3}});
  Scenario scenario = Scenario::of_seed(seed, workload);
  scenario.cluster.memory.timestamp_vector = layout::VectorSpread::partitioned;
  scenario.resize(size);
  REQUIRE(scenario.use_faults(draw_faults(seed), "seed").ok());
  CHECK(run_and_compare(scenario, history::strict_snapshot_isolation()).anomaly == "");
}

}  // namespace namdb::sim
