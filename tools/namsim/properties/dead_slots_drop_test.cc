// A table is dropped while a dead commit holds its rows.
#include <catch2/catch.hpp>

#include "tools/namsim/scenario/scenario.h"

namespace namdb::sim {

// Nothing is installed in a table that is gone; an older snapshot may still wait for one of its rows.
TEST_CASE(
    "a transaction that waits for a row which a dead commit left half written in a dropped table is told of "
    "the drop",
    "[engine]") {
  Scenario scenario = Scenario::of_seed(806787, "schema");
  scenario.resize(
      {.memory_servers = 2, .computes = 3, .clients = 3, .transactions = 12, .keys = 2, .kills = 2});
  REQUIRE(scenario.use_faults(draw_faults(scenario.seed), "seed").ok());
  CHECK(run_scenario(scenario, promised_level("si")).anomaly == "");
}

}  // namespace namdb::sim
