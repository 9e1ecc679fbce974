// Every mutant's seed fails with the mutant and passes without it. A mutant that survives means that the
// simulator does not bite there. NAMDB_SEEDS searches: see docs/internals/simulation.md.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

Verdict run_with(const MutantCase& mutant, std::uint64_t seed,
                 const std::function<std::unique_ptr<Mutant>()>& make) {
  const auto interposer = make ? make() : nullptr;
  Scenario scenario = Scenario::of_seed(seed, "register", mutant.emphasis);
  scenario.resize({.kills = mutant.emphasis == Emphasis::kills ? 2 : 0});
  scenario.cluster.interposer = interposer.get();
  return run_scenario(scenario, history::strict_snapshot_isolation());
}

}  // namespace

TEST_CASE("a run without one of the protocol's protections fails, on a seed that passes with it",
          "[mutants]") {
  std::set<std::string_view> names;
  for (const MutantCase& mutant : all_mutants()) {
    INFO(mutant.name << ", seed " << mutant.seed);
    CHECK(names.insert(mutant.name).second);
    CHECK(!run_with(mutant, mutant.seed, mutant.make).anomaly.empty());
    CHECK(run_with(mutant, mutant.seed, mutant.sound).anomaly == "");
  }
}

// Hidden: prints the first seed of each that fails, for the table in docs/internals/simulation.md.
TEST_CASE("first seeds of the mutants", "[.first-seeds]") {
  const char* const asked = std::getenv("NAMDB_SEEDS");
  const char* const only = std::getenv("NAMDB_MUTANT");
  const std::uint64_t seeds = asked == nullptr ? 500 : std::strtoull(asked, nullptr, 10);
  for (const MutantCase& mutant : all_mutants()) {
    if (only != nullptr && mutant.name.find(only) == std::string_view::npos) continue;
    std::uint64_t transactions = 0;
    Verdict verdict;
    std::uint64_t seed = 0;
    while (seed < seeds && verdict.anomaly.empty()) {
      verdict = run_with(mutant, ++seed, mutant.make);
      transactions += verdict.transactions;
    }
    std::printf("%s | %llu | %llu | %.300s\n", std::string(mutant.name).c_str(),
                static_cast<unsigned long long>(verdict.anomaly.empty() ? 0 : seed),
                static_cast<unsigned long long>(transactions), verdict.anomaly.c_str());
    std::fflush(stdout);
  }
}

}  // namespace namdb::sim
