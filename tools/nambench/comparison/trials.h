// Subjects and their results. They take turns, so that other work of the machine disturbs all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/nambench/comparison/schedule.h"
#include "tools/nambench/comparison/spread.h"
#include "tools/nambench/comparison/subject.h"
#include "tools/support/report/progress.h"

namespace namdb::nambench {

struct Trial {
  Subject subject;
  std::vector<Measurement> runs;

  Spread of(double Measurement::* figure) const;
  // The attempts of each type: conflicts as the median, the others as the greatest of all runs.
  std::vector<TypeAttempts> attempts() const;
  // The shares of the run whose whole is the median, so that they add up.
  std::vector<support::TimeShare> time_shares() const;
};

// Pointers to all trials, in their order.
std::vector<Trial*> pointers(std::vector<Trial>& trials);

// Runs one subject once, such as run_subject().
using RunOne = std::function<Result<Measurement>(const Subject&, const RunSpan&)>;

class Turns {
 public:
  Turns(RunOne run_one, Schedule& schedule, support::Progress& progress)
      : run_one_(std::move(run_one)), schedule_(schedule), progress_(progress) {}

  // Each of the trials `repetitions` times, in turns: there and back, so that none is always behind the same
  // other. The runs of one repetition have the same seed, `span.seed` and up. `what` is for people.
  Status run(std::vector<Trial*> trials, std::uint32_t repetitions, RunSpan span, const std::string& what);

 private:
  RunOne run_one_;
  Schedule& schedule_;
  support::Progress& progress_;
};

}  // namespace namdb::nambench
