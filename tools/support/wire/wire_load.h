// Loads a workload through the wire: creates its tables and fills them with prepared INSERTs of several rows,
// pipelined over several connections.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/support/client/connection.h"
#include "tools/support/report/progress.h"
#include "tools/support/workload/load_rows.h"
#include "workloads/workload.h"

namespace namdb::support {

struct WireLoadOptions {
  std::vector<Endpoint> endpoints;  // connections are spread over them
  std::uint32_t connections = 4;
  std::uint32_t pipeline = 4;
  std::uint32_t rows_per_insert = 0;  // 0: by the size of the rows
  bool replace = false;               // drop tables of these names first
  std::vector<std::string> tables;    // only these; empty: all
  workloads::SqlDialect dialect = workloads::SqlDialect::namdb;
};

// Error duplicate_table when one of the tables is there and not to be replaced: nothing was changed then.
Result<LoadReport> wire_load(const workloads::Workload& workload, const WireLoadOptions& options,
                             Progress& progress);

}  // namespace namdb::support
