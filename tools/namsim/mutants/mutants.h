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

// A run of the crash table under the default protocol, at that moment of the world that the seed names, with
// checkpoints often. 0: at the moment that the seed names, in steps of kCrashStep, of the table's own world.
struct CrashCase {
  CrashVictim victim = CrashVictim::all;
  std::uint64_t moment = 0;
  std::uint64_t quiet_ns = 0;
};

// The run that tries a mutant: a scenario with registers that has this emphasis, or one of the other runs.
using MutantRun = std::variant<Emphasis, Churn, GrowthTrouble, Pauses, IndexTrouble, CrashCase>;
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
std::vector<MutantCase> stage_mutants();

std::vector<MutantCase> all_mutants();

template <typename T>
std::unique_ptr<Mutant> make_mutant() {
  return std::make_unique<T>();
}

}  // namespace namdb::sim
