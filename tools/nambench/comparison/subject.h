// The subject of a comparison: a protocol with a stage code, on a workload, over a transport, with a number
// of transactions under way.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "common/protocols/stages.h"
#include "tools/nambench/comparison/measurement.h"
#include "tools/nambench/comparison/workloads.h"

namespace namdb::nambench {

struct Subject {
  std::string protocol;
  protocol::StageCode stages;
  std::string fabric;  // shm or tcp
  ComparedWorkload workload;
  std::uint64_t coroutines = 1;
  double computation_us = 0;  // of each attempt, between its last read and its commit
  std::string without;        // optimisations that are left out (compute/cluster/optimisations.h)
  bool stage_times = false;   // count where the time goes

  friend bool operator==(const Subject&, const Subject&) = default;
};

// One run: how long, and which rows and calls.
struct RunSpan {
  double warmup_seconds = 0;
  double seconds = 0;
  std::uint64_t seed = 1;
  bool check = false;  // that the workload's sums come out right
  double all_seconds() const { return warmup_seconds + seconds; }
};

struct RunLimits {
  Sizes sizes;
  std::uint64_t region_mib = 0;  // 0: the workload's need
};

// Starts a memory server on a thread of this process and a worker on this one, loads fresh tables, runs, and
// stops both. An error also when transactions failed for another reason than conflicts, or sums are wrong.
Result<Measurement> run_subject(const Subject& subject, const RunSpan& span, const RunLimits& limits);

}  // namespace namdb::nambench
