// Records the view of clients of a real cluster: connections that read and write registers or lists through
// the PostgreSQL protocol. Each transaction is recorded as it ends. Connections that break are opened again,
// as new sessions; a transaction under way is then aborted, or of unknown outcome if its COMMIT had been
// sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/namsim/history/history.h"

namespace namdb::sim {

struct RecordOptions {
  std::string host = "127.0.0.1";
  std::vector<std::uint16_t> ports;  // of compute servers; clients take them in turn
  std::string user = "namdb";
  std::string database = "namdb";
  history::Model model = history::Model::lists;
  std::uint64_t clients = 8;
  double seconds = 5;
  std::uint64_t keys = 8;  // in use at a time: full lists are replaced
  std::uint64_t keys_per_transaction = 3;
  std::uint64_t seed = 1;
  double wait_seconds = 0;  // for the first connection
  std::string file;
};

struct RecordReport {
  std::uint64_t committed = 0;
  std::uint64_t aborted = 0;
  std::uint64_t unknown = 0;
  std::uint64_t connections = 0;
  // The first impossible observation: a row that is gone, a malformed list. Empty if there was none.
  std::string complaint;
};

// Replaces the table namsim_record, runs, reads every row once more, and closes the file. Errors:
// connection_failure if there is no cluster at the start, within wait_seconds, or none any more at the end,
// configuration if the file cannot be written.
Result<RecordReport> record(const RecordOptions& options);

}  // namespace namdb::sim
