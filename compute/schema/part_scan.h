// A scan of a part of a table, for work that goes through the whole table beside other transactions. A part
// is read in one snapshot, which shows all commits from before the scan began, and within a share of the time
// that a transaction may take.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/error.h"
#include "common/layout/row.h"
#include "common/reactor/task.h"
#include "compute/schema/schema_worker.h"
#include "compute/txn/bucket_scan.h"

namespace namdb::schema {

class PartScan {
 public:
  // From that position of the table on. `worker` outlives this.
  PartScan(SchemaWorker& worker, storage::TableRef table, protocol::ScanPosition position);

  protocol::EngineTransaction& transaction() { return *transaction_; }
  // Replaces `rows` by the next ones; empty at the end of the part. Errors are the scan's; admin_shutdown.
  reactor::Task<Status> next(std::vector<layout::Row>* rows);
  // The part is to end soon.
  void wind_up() { scan_.wind_up(); }
  // Behind the part, at its end.
  protocol::ScanPosition position() const { return scan_.position(); }

 private:
  SchemaWorker& worker_;
  protocol::SessionState session_;
  std::unique_ptr<protocol::EngineTransaction> transaction_;
  protocol::BucketScan scan_;
  const std::uint64_t enough_ns_;
};

}  // namespace namdb::schema
