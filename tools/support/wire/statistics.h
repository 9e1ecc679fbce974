// The counters of a compute server. The difference between before and after a run is the run's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/support/client/connection.h"
#include "tools/support/report/run_report.h"

namespace namdb::support {

using Statistics = std::map<std::string, ServerMetrics>;  // by transaction type: a procedure's name

// Summed over the servers.
Result<Statistics> read_statistics(const std::vector<Endpoint>& endpoints);
// Puts the differences into the report's types.
void add_statistics(RunReport& report, const Statistics& before, const Statistics& after);

}  // namespace namdb::support
