// Finds the stage code that is best for a protocol on a workload (RCC §5.1), and shows where a transaction's
// time goes under it and under the pure codes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/nambench/comparison/trials.h"

namespace namdb::nambench {

struct HybridOptions {
  Subject subject;            // its stages are what is looked for
  RunSpan probe;              // of each code in the first round; later ones are longer
  RunSpan run;                // of a finalist
  std::size_t finalists = 4;  // beside the pure codes
  std::uint32_t repetitions = 5;
};

// Where the mean transaction's time goes with so many under way.
struct Breakdown {
  std::uint64_t coroutines = 1;
  std::vector<Trial> codes;
};

struct HybridReport {
  Subject subject;
  std::size_t codes = 0;         // that were estimated
  protocol::StageCode varied;    // the stages that transactions come to
  std::vector<Trial> finalists;  // the best first; pure one-sided and two-sided are among them
  std::vector<Breakdown> breakdowns;

  const Trial& best() const { return finalists.front(); }
  const Trial& best_pure() const;
  // The best code's throughput over that of the best pure code.
  double ratio_to_best_pure() const;
};

// Says beforehand how long it takes, and where it is.
Result<HybridReport> search_hybrid(const HybridOptions& options, const RunOne& run_one,
                                   support::Progress& progress);

std::string to_text(const HybridReport& report);
nlohmann::ordered_json to_json(const HybridReport& report);

}  // namespace namdb::nambench
