// Every mutant's seed fails with the mutant and passes without it. A mutant that survives means that the
// simulator does not bite there. NAMDB_SEEDS searches: see docs/internals/simulation.md.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "tools/namsim/mutants/mutants.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kSeeds = 3000;
// Each a case, so that programs run them beside each other.
constexpr std::size_t kShares = 3;

struct Outcome {
  std::string anomaly;
  std::uint64_t operations = 0;  // one-sided ones and calls that compute servers posted
};

// Those whose name contains NAMDB_MUTANT, if that is set.
std::vector<MutantCase> asked_mutants() {
  const char* const only = std::getenv("NAMDB_MUTANT");
  std::vector<MutantCase> asked = all_mutants();
  if (only != nullptr)
    std::erase_if(asked, [&](const auto& one) { return one.name.find(only) == std::string_view::npos; });
  return asked;
}

std::string anomaly_of(const MutantCase& mutant, std::uint64_t seed, Interposer* interposer) {
  if (const auto* trouble = std::get_if<GrowthTrouble>(&mutant.run))
    return run_growth(seed, *trouble, interposer).anomaly;
  if (const auto* pauses = std::get_if<Pauses>(&mutant.run))
    return run_paused(seed, *pauses, interposer).anomaly;
  if (const auto* trouble = std::get_if<IndexTrouble>(&mutant.run))
    return run_indexes(seed, *trouble, interposer).anomaly;
  if (const auto* run = std::get_if<CrashCase>(&mutant.run)) {
    Crash crash{.protocol = protocol::kDefaultProtocol, .victim = run->victim, .quiet_ns = run->quiet_ns};
    crash.moment = seed * kCrashStep;
    if (run->moment != 0) {
      crash.moment = run->moment;
      crash.seed = seed;
      crash.checkpoint_interval_ns = Crash::kOften_ns;
    }
    return run_crash(crash, interposer).anomaly;
  }
  const bool churn = std::holds_alternative<Churn>(mutant.run);
  const Emphasis emphasis = churn ? Emphasis::none : std::get<Emphasis>(mutant.run);
  Scenario scenario = Scenario::of_seed(seed, churn ? "churn" : "register", emphasis);
  scenario.resize({.kills = emphasis == Emphasis::kills ? 2 : 0});
  if (mutant.adjust) mutant.adjust(scenario);
  scenario.cluster.interposer = interposer;
  return run_scenario(scenario, promised_level(scenario.cluster.memory.protocol)).anomaly;
}

Outcome run_with(const MutantCase& mutant, std::uint64_t seed,
                 const std::function<std::unique_ptr<Mutant>()>& make) {
  const auto interposer = make ? make() : nullptr;
  Outcome outcome;
  outcome.anomaly = anomaly_of(mutant, seed, interposer.get());
  if (interposer != nullptr) outcome.operations = interposer->operations();
  return outcome;
}

bool found(const MutantCase& mutant, const Outcome& outcome) {
  return !outcome.anomaly.empty() && outcome.anomaly.find(mutant.finding) != std::string::npos;
}

// The mutant's own seed; or, since a change of the product changes what happens under a seed, the first with
// the mutant's finding of a bounded number. 0: none.
std::uint64_t failing_seed(const MutantCase& mutant) {
  if (found(mutant, run_with(mutant, mutant.seed, mutant.make))) return mutant.seed;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    if (!found(mutant, run_with(mutant, seed, mutant.make))) continue;
    WARN("\"" << mutant.name << "\" is not found on seed " << mutant.seed << " any more, but on " << seed);
    return seed;
  }
  return 0;
}

// The first line without its numbers.
std::string kind_of(const std::string& anomaly) {
  std::string kind = anomaly.substr(0, anomaly.find('\n'));
  std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
  return kind;
}

// Every kShares-th mutant, from that one on.
void check_share(std::size_t first) {
  const std::vector<MutantCase> mutants = asked_mutants();
  for (std::size_t number = first; number < mutants.size(); number += kShares) {
    const MutantCase& mutant = mutants[number];
    const std::uint64_t seed = failing_seed(mutant);
    INFO(mutant.name << ", seed " << seed);
    CHECK(seed != 0);
    CHECK(run_with(mutant, seed, mutant.sound).anomaly == "");
  }
}

}  // namespace

// Each on a seed that passes with the protection.
TEST_CASE("a run without one of the protocol's protections fails as expected: of three the first",
          "[mutants][first]") {
  check_share(0);
}

TEST_CASE("a run without one of the protocol's protections fails as expected: of three the second",
          "[mutants][second]") {
  check_share(1);
}

TEST_CASE("a run without one of the protocol's protections fails as expected: of three the third",
          "[mutants][third]") {
  check_share(2);
}

TEST_CASE("each mutant has a name of its own, and a finding") {
  std::set<std::string_view> names;
  for (const MutantCase& mutant : all_mutants()) {
    INFO(mutant.name);
    CHECK(names.insert(mutant.name).second);
    CHECK(!mutant.finding.empty());
  }
}

// Hidden: prints the first seed of each that has its finding, and how many operations all seeds up to that
// took, for the table in docs/internals/simulation.md.
TEST_CASE("first seeds of the mutants", "[.first-seeds]") {
  const std::uint64_t seeds = number_from_environment("NAMDB_SEEDS", 500);
  for (const MutantCase& mutant : asked_mutants()) {
    Outcome outcome;
    std::uint64_t operations = 0;
    std::uint64_t seed = 0;
    while (seed < seeds && !found(mutant, outcome)) {
      outcome = run_with(mutant, ++seed, mutant.make);
      operations += outcome.operations;
    }
    std::printf("%s | %llu | %llu | %.300s\n", std::string(mutant.name).c_str(),
                static_cast<unsigned long long>(found(mutant, outcome) ? seed : 0),
                static_cast<unsigned long long>(operations), outcome.anomaly.c_str());
    std::fflush(stdout);
  }
}

// Hidden: prints what else the seeds say with each mutant, how often, and which is the first that says so.
TEST_CASE("findings of the mutants", "[.findings]") {
  const std::uint64_t seeds = number_from_environment("NAMDB_SEEDS", 100);
  struct Kind {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  for (const MutantCase& mutant : asked_mutants()) {
    std::map<std::string, Kind> kinds;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const std::string anomaly = run_with(mutant, seed, mutant.make).anomaly;
      if (anomaly.empty()) continue;
      Kind& kind = kinds[kind_of(anomaly)];
      if (kind.count++ == 0) kind.first = seed;
    }
    for (const auto& [text, kind] : kinds) {
      std::printf("%s | %llu | %llu | %.200s\n", std::string(mutant.name).c_str(),
                  static_cast<unsigned long long>(kind.first), static_cast<unsigned long long>(kind.count),
                  text.c_str());
    }
    std::fflush(stdout);
  }
}

}  // namespace namdb::sim
