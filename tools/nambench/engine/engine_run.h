// Runs and loads a workload on the engine: the same procedures in this process, many of them as coroutines of
// one worker. The difference to a run through the wire is the cost of the wire.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/nambench/engine/engine_host.h"
#include "tools/support/report/progress.h"
#include "tools/support/report/run_recorder.h"
#include "tools/support/report/run_report.h"
#include "tools/support/workload/load_rows.h"
#include "workloads/workload.h"

namespace namdb::nambench {

// Where the host counts stage times, the report says where the time of the transactions went.
struct EngineRunOptions {
  std::uint64_t coroutines = 16;  // transactions under way at once
  support::RunLength length;
  std::uint64_t computation_ns = 0;  // of each attempt, between its last read and its commit
  bool check = true;
  bool check_rows = false;
};
Result<support::RunReport> engine_run(const workloads::Workload& workload, EngineHost& host,
                                      const EngineRunOptions& options, support::Progress& progress);

struct EngineLoadOptions {
  std::uint32_t coroutines = 8;
  std::uint32_t rows_per_insert = 0;  // 0: by the size of the rows
  bool replace = false;
  std::vector<std::string> tables;  // only these; empty: all
};
Result<support::LoadReport> engine_load(const workloads::Workload& workload, EngineHost& host,
                                        const EngineLoadOptions& options, support::Progress& progress);

}  // namespace namdb::nambench
