// Scenarios in child processes: a run that breaks a check, faults or never ends is a failure of that run and
// of nothing else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/namsim/history/anomaly.h"
#include "tools/namsim/scenario/scenario.h"

namespace namdb::sim {

struct ChildVerdict {
  std::string anomaly;  // empty: all was as it must be
  std::uint64_t transactions = 0;
  std::uint64_t committed = 0;
  std::uint64_t fingerprint = 0;
  FaultCounts happened{};
};

// One process that runs scenarios one after the other: processes cost more than runs.
class ChildRun {
 public:
  // Forks; each scenario may use so much processor time. The child's standard error is this process's.
  // Error configuration if the system refuses.
  static Result<ChildRun> start(std::vector<Scenario> scenarios, const history::Level& level,
                                std::uint64_t cpu_s);
  ChildRun(ChildRun&& other) noexcept;
  ChildRun& operator=(ChildRun&& other) noexcept;
  // Kills the child if it still runs.
  ~ChildRun();

  const std::vector<Scenario>& scenarios() const { return scenarios_; }
  // Readable once the child has something to say or has ended.
  int descriptor() const { return descriptor_; }
  // Blocks until the child has ended. The verdicts of its scenarios in their order, up to the first that
  // failed: nothing is run after that.
  std::vector<ChildVerdict> finish();

 private:
  ChildRun(std::vector<Scenario> scenarios, std::uint64_t cpu_s, pid_t pid, int descriptor)
      : scenarios_(std::move(scenarios)), cpu_s_(cpu_s), pid_(pid), descriptor_(descriptor) {}
  std::vector<Scenario> scenarios_;
  std::uint64_t cpu_s_ = 0;
  pid_t pid_ = -1;
  int descriptor_ = -1;
};

// One scenario, waited for.
Result<ChildVerdict> run_in_child(const Scenario& scenario, const history::Level& level, std::uint64_t cpu_s);

}  // namespace namdb::sim
