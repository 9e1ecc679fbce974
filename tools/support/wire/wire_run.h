// Runs a workload through the wire: many clients of one process on one epoll loop, each with so many prepared
// CALLs under way. A closed loop: a client sends its next call when an answer arrives.
#pragma once

#include <vector>

#include "common/base/error.h"
#include "tools/support/client/connection.h"
#include "tools/support/report/progress.h"
#include "tools/support/report/run_recorder.h"
#include "tools/support/report/run_report.h"
#include "workloads/workload.h"

namespace namdb::support {

struct WireRunOptions {
  std::vector<Endpoint> endpoints;  // at least one; clients are spread over them
  std::uint64_t clients = 8;
  std::uint64_t pipeline = 1;
  // Each client goes to a compute server beside the memory server that its calls are about.
  bool route = false;
  // A client whose connection breaks opens another one, instead of ending the run.
  bool reconnect = false;
  RunLength length;
  bool check = true;        // compare the workload's sums before and after
  bool check_rows = false;  // look at every row afterwards
};

// Error: the one that ended the run early. A failed transaction does not end it: the report counts it.
Result<RunReport> wire_run(const workloads::Workload& workload, const WireRunOptions& options,
                           Progress& progress);

}  // namespace namdb::support
