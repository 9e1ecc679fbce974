// Every mutant: which rule it removes, where the rule is kept, a run that fails with it, and how.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/scenario/crash_run.h"
#include "tools/namsim/scenario/growth_run.h"
#include "tools/namsim/scenario/index_run.h"
#include "tools/namsim/scenario/paused_run.h"
#include "tools/namsim/scenario/scenario.h"

namespace namdb::sim {

// A scenario with rows that come and go.
struct Churn {};

// The run that tries a mutant: a scenario with registers that has this emphasis, or one of the other runs. Of
// a crash, the seed is a moment of the crash table, in steps of kCrashStep.
using MutantRun = std::variant<Emphasis, Churn, GrowthTrouble, Pauses, IndexTrouble, CrashVictim>;
inline constexpr std::uint64_t kCrashStep = 7;

struct MutantCase {
  std::string_view name;
  std::string_view protection;  // the file that keeps the rule
  MutantRun run;
  std::uint64_t seed;        // fails with the mutant, passes without
  std::string_view finding;  // what the failure says, among other things
  std::function<std::unique_ptr<Mutant>()> make;
  // Stands in the mutant's place where the run must pass: its hostile surroundings without the fault, if any.
  std::function<std::unique_ptr<Mutant>()> sound = nullptr;
  // Changes the scenario beyond its emphasis.
  std::function<void(Scenario&)> adjust = nullptr;
};

// The families, each a file.
std::vector<MutantCase> snapshot_mutants();
std::vector<MutantCase> version_mutants();
std::vector<MutantCase> search_mutants();
std::vector<MutantCase> lock_mutants();
std::vector<MutantCase> journal_mutants();
std::vector<MutantCase> publish_mutants();
std::vector<MutantCase> slot_mutants();
std::vector<MutantCase> partitioned_vector_mutants();
std::vector<MutantCase> deciding_mutants();
std::vector<MutantCase> collection_mutants();
std::vector<MutantCase> reuse_mutants();
std::vector<MutantCase> conflict_mutants();
std::vector<MutantCase> growth_mutants();
std::vector<MutantCase> paused_mutants();
std::vector<MutantCase> serializable_mutants();
std::vector<MutantCase> index_mutants();
std::vector<MutantCase> durability_mutants();

std::vector<MutantCase> all_mutants();

template <typename T>
std::unique_ptr<Mutant> make_mutant() {
  return std::make_unique<T>();
}

}  // namespace namdb::sim
