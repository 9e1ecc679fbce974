// The experiment of NAM-DB §7.2: timestamps a second of the timestamp vector, with a slot for each execution
// thread and with its optimisations, against those of the classic global counter. It also reports the cost of
// a timestamp in operations, round trips and bytes, which is the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/support/report/progress.h"

namespace namdb::nambench {

// The names of the oracles, in the order of the paper's Figure 7.
const std::vector<std::string>& oracle_names();

struct OracleBenchOptions {
  std::vector<std::string> transports = {"shm", "tcp"};
  std::vector<std::string> oracles = oracle_names();
  // Execution threads: coroutines, spread evenly over `threads` threads, each of which is a compute server of
  // one worker.
  std::vector<std::uint64_t> clients = {1, 4, 16, 64};
  std::uint64_t threads = 1;
  std::uint64_t transactions = 40'000;  // of all clients together, in one measurement
  std::uint32_t repetitions = 3;
};

struct OracleReport {
  std::string transport;
  std::string oracle;
  std::uint64_t clients = 0;
  double median_per_second = 0;
  // For each timestamp transaction, over all measurements.
  double operations = 0;  // one-sided, and calls
  double round_trips = 0;
  double bytes = 0;
};

Result<std::vector<OracleReport>> oracle_bench(const OracleBenchOptions& options,
                                               support::Progress& progress);

}  // namespace namdb::nambench
