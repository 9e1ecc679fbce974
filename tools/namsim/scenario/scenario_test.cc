// Scenarios: every workload keeps what namdb promises and shows what it does not promise; a run is its seed.
#include "tools/namsim/scenario/scenario.h"

#include <catch2/catch.hpp>

#include "tools/namsim/testing/seeds.h"
#include "tools/namsim/workloads/append_workload.h"

namespace namdb::sim {
namespace {

const history::Level& level(const char* name) {
  static history::Level found;
  found = *history::level_from_name(name);
  return found;
}

}  // namespace

TEST_CASE("every workload is strict snapshot isolated whatever the seed draws", "[scenario]") {
  const std::uint64_t seeds = Seeds::share_of(40);
  for (const std::string_view workload : kWorkloads) {
    std::uint64_t committed = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const Scenario scenario = Scenario::of_seed(seed, std::string(workload));
      const Verdict verdict = run_scenario(scenario, history::strict_snapshot_isolation());
      INFO(scenario.flags());
      REQUIRE(verdict.anomaly == "");
      committed += verdict.committed;
    }
    CHECK(committed > 10 * seeds);
  }
}

TEST_CASE("write skew is seen when the write-skew workload is held against serializable", "[scenario]") {
  std::uint64_t seen = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Verdict verdict = run_scenario(Scenario::of_seed(seed, "write-skew"), level("serializable"));
    seen += verdict.anomaly.starts_with("write skew") ? 1 : 0;
  }
  CHECK(seen >= 10);
}

TEST_CASE("a scenario runs the same each time, and its flags give it again", "[scenario]") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Scenario scenario = Scenario::of_seed(seed);
    const Verdict first = run_scenario(scenario, history::strict_snapshot_isolation());
    Scenario again = Scenario::of_seed(seed, scenario.workload);
    again.resize(scenario.size);
    CHECK(again.flags() == scenario.flags());
    CHECK(again.describe() == scenario.describe());
    const Verdict second = run_scenario(again, history::strict_snapshot_isolation());
    CHECK(first.fingerprint == second.fingerprint);
    CHECK(first.history.transactions() == second.history.transactions());
  }
}

TEST_CASE("a scenario can be made smaller", "[scenario]") {
  Scenario scenario = Scenario::of_seed(3, "bank");
  scenario.resize(
      {.memory_servers = 1, .computes = 1, .clients = 1, .transactions = 2, .keys = 2, .kills = 0});
  const Verdict verdict = run_scenario(scenario, history::strict_snapshot_isolation());
  CHECK(verdict.anomaly == "");
  CHECK(verdict.transactions <= 4);
  CHECK(scenario.flags() ==
        "--seed 3 --workload bank --kills 0 --computes 1 --clients 1 --transactions 2 --keys 2 "
        "--memory-servers 1");
}

TEST_CASE("lists are written as text and read again, and any other text is refused", "[scenario]") {
  CHECK(list_text({}) == "");
  CHECK(list_text({4, 9}) == "4,9");
  CHECK(parse_list("")->empty());
  CHECK(*parse_list("4,9") == std::vector<history::Version>{4, 9});
  for (const char* bad : {",", "4,", ",4", "4,,9", "4 ,9", "x", "-1", "0", "99999999999999999999"}) {
    INFO(bad);
    CHECK_FALSE(parse_list(bad).ok());
  }
}

}  // namespace namdb::sim
