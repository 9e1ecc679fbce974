// A run second by second, as a file for other programs.
#pragma once

#include <string>

#include "tools/nambench/report/run_report.h"

namespace namdb::nambench {

// Comma-separated values: a line with the names, then one for each second of the run. `begin_ns` is the
// machine's monotonic clock when the second began; events of other programs are placed by it.
std::string timeline_csv(const RunReport& report);

}  // namespace namdb::nambench
