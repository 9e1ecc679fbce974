// The workloads' own checks bite: what a broken protocol or a wrong procedure does to them is seen.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tools/namsim/mutants/mutants.h"
#include "tools/namsim/workloads/ledger.h"

namespace namdb::sim {
namespace {

std::unique_ptr<Mutant> make(std::string_view name) {
  const std::vector<MutantCase> mutants = all_mutants();
  const auto found = std::ranges::find_if(mutants, [name](const auto& one) { return one.name == name; });
  REQUIRE(found != mutants.end());
  return found->make();
}

// What the first seed says that fails with the mutant; empty if none of a hundred does.
std::string anomaly_with(std::string_view mutant, const char* workload) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto interposer = make(mutant);
    Scenario scenario = Scenario::of_seed(seed, workload);
    scenario.cluster.interposer = interposer.get();
    Verdict verdict = run_scenario(scenario, history::strict_snapshot_isolation());
    if (!verdict.anomaly.empty()) return verdict.anomaly;
  }
  return {};
}

}  // namespace

TEST_CASE("every workload that checks sums and structures sees locks that were not taken", "[mutants]") {
  for (const char* workload : {"churn", "ring", "smallbank"}) {
    INFO(workload);
    CHECK(anomaly_with("a lock that was not taken counts as taken", workload) != "");
  }
}

TEST_CASE("a ledger knows what snapshots may show", "[ledger]") {
  Ledger ledger;
  ledger.open(1, 100);
  const auto sure = ledger.begin(10, {{{1, 5}, {2, -5}}});
  ledger.committed(sure, 20, {{1, 5}, {2, -5}});
  SECTION("an acknowledged change") {
    CHECK(ledger.check(1, 105, 30, 40) == "");
    CHECK(ledger.check(2, -5, 30, 40) == "");
    CHECK(ledger.check(1, 100, 30, 40) != "");
  }
  SECTION("a change at the same time: either") {
    CHECK(ledger.check(1, 100, 15, 40) == "");
    CHECK(ledger.check(1, 105, 15, 40) == "");
    CHECK(ledger.check(1, 103, 15, 40) != "");
  }
  SECTION("a change that began afterwards: not at all") {
    CHECK(ledger.check(1, 100, 1, 9) == "");
    CHECK(ledger.check(1, 105, 1, 9) != "");
  }
  SECTION("a change whose outcome nobody knows: any alternative or none") {
    ledger.begin(50, {{{1, 7}}, {{1, 9}}});
    for (const std::int64_t value : {105, 112, 114}) CHECK(ledger.check(1, value, 60, 70) == "");
    for (const std::int64_t value : {107, 121, 100}) CHECK(ledger.check(1, value, 60, 70) != "");
  }
  SECTION("an aborted change is none") {
    ledger.aborted(ledger.begin(50, {{{1, 7}}}));
    CHECK(ledger.check(1, 105, 60, 70) == "");
    CHECK(ledger.check(1, 112, 60, 70) != "");
  }
  SECTION("after a restart only what was open is in doubt") {
    const auto open = ledger.begin(50, {{{1, 7}}});
    ledger.restart();
    ledger.committed(open, 60, {{1, 7}});
    CHECK(ledger.check(1, 100, 70, 80) == "");
    CHECK(ledger.check(1, 107, 70, 80) == "");
    CHECK(ledger.check(1, 105, 70, 80) != "");
  }
}

}  // namespace namdb::sim
