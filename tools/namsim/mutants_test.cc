// Every mutant's seed fails with the mutant and passes without it. A mutant that survives means that the
// simulator does not bite there. NAMDB_SEEDS searches: see docs/internals/simulation.md.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "tools/namsim/churn_run.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kSeeds = 3000;

struct Outcome {
  std::string anomaly;
  std::uint64_t transactions = 0;
};

Outcome run_scenario_with(const MutantCase& mutant, Emphasis emphasis, std::uint64_t seed,
                          Interposer* interposer) {
  Scenario scenario = Scenario::of_seed(seed, "register", emphasis);
  scenario.resize({.kills = emphasis == Emphasis::kills ? 2 : 0});
  if (mutant.adjust) mutant.adjust(scenario);
  scenario.cluster.interposer = interposer;
  const Verdict verdict = run_scenario(scenario, history::strict_snapshot_isolation());
  return {verdict.anomaly, verdict.transactions};
}

Outcome run_with(const MutantCase& mutant, std::uint64_t seed,
                 const std::function<std::unique_ptr<Mutant>()>& make) {
  const auto owned = make ? make() : nullptr;
  Interposer* const interposer = owned.get();
  if (const auto* emphasis = std::get_if<Emphasis>(&mutant.run))
    return run_scenario_with(mutant, *emphasis, seed, interposer);
  if (const auto* trouble = std::get_if<GrowthTrouble>(&mutant.run)) {
    const GrowthVerdict verdict = run_growth(seed, *trouble, interposer);
    return {verdict.anomaly, verdict.transactions};
  }
  if (const auto* pauses = std::get_if<Pauses>(&mutant.run)) {
    const PausedVerdict verdict = run_paused(seed, *pauses, interposer);
    return {verdict.anomaly, verdict.transactions};
  }
  const ChurnVerdict verdict = run_churn(seed, interposer);
  return {verdict.anomaly, verdict.committed};
}

// The mutant's own seed; or, since a change of the product changes what happens under a seed, the first that
// fails of a bounded number. 0: none.
std::uint64_t failing_seed(const MutantCase& mutant) {
  if (!run_with(mutant, mutant.seed, mutant.make).anomaly.empty()) return mutant.seed;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    if (!run_with(mutant, seed, mutant.make).anomaly.empty()) return seed;
  }
  return 0;
}

}  // namespace

TEST_CASE("a run without one of the protocol's protections fails, on a seed that passes with it",
          "[mutants]") {
  std::set<std::string_view> names;
  for (const MutantCase& mutant : all_mutants()) {
    CHECK(names.insert(mutant.name).second);
    const std::uint64_t seed = failing_seed(mutant);
    INFO(mutant.name << ", seed " << seed);
    CHECK(seed != 0);
    CHECK(run_with(mutant, seed, mutant.sound).anomaly == "");
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
    Outcome outcome;
    std::uint64_t seed = 0;
    while (seed < seeds && outcome.anomaly.empty()) {
      outcome = run_with(mutant, ++seed, mutant.make);
      transactions += outcome.transactions;
    }
    std::printf("%s | %llu | %llu | %.300s\n", std::string(mutant.name).c_str(),
                static_cast<unsigned long long>(outcome.anomaly.empty() ? 0 : seed),
                static_cast<unsigned long long>(transactions), outcome.anomaly.c_str());
    std::fflush(stdout);
  }
}

}  // namespace namdb::sim
