// The gain of each optimisation: a factor analysis as in DrTM+H's Figure 13, cumulative from none to all.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/nambench/comparison/trials.h"

namespace namdb::nambench {

struct FactorOptions {
  Subject subject;  // with all optimisations, and its coroutines, as it is in the end
  RunSpan run;
  std::uint32_t repetitions = 5;
};

// A subject with the optimisations of all steps until this one.
struct FactorStep {
  std::string name;
  Trial trial;
};

// The first with nothing, one transaction under way; the last is options.subject. Optimisations come in the
// order of compute/cluster/optimisations.h; many transactions under way before the last of them, as in the
// paper's table.
std::vector<FactorStep> factor_steps(const FactorOptions& options);

// Runs the steps in turns. Says beforehand how long it takes.
Result<std::vector<FactorStep>> analyse_factors(const FactorOptions& options, const RunOne& run_one,
                                                support::Progress& progress);

std::string to_text(const std::vector<FactorStep>& steps);
nlohmann::ordered_json to_json(const std::vector<FactorStep>& steps);

}  // namespace namdb::nambench
