// Creating and dropping tables.
//
// A table is created together with the indexes of its UNIQUE constraints: all are begun in the catalog,
// prepared on the memory servers, and finished in one step of the catalog, so no transaction sees the table
// without its indexes. If the creator dies before that, nothing is left: the catalog forgets what the creator
// had begun, and heartbeats find what memory servers keep for it (recovery/orphan_tables.h).
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/txn/worker_state.h"
#include "proto/control_types.h"

namespace namdb::schema {

class Tables {
 public:
  // `state` is a connection's, and outlives this.
  explicit Tables(txn::WorkerState& state) : state_(state) {}

  // As in Engine.
  reactor::Task<Status> create(txn::TableDefinition definition);
  reactor::Task<Status> drop(std::string name);

  // The rest of creating a table that is begun in the catalog: prepares it and its indexes on the memory
  // servers and finishes it, or undoes all of it. The version of the catalog that has the table.
  reactor::Task<Result<std::uint64_t>> finish(control::FinishCreateTableRequest request);

 private:
  reactor::Task<Status> prepare(control::FinishCreateTableRequest* request);
  reactor::Task<Status> prepare_indexes(control::FinishCreateTableRequest* request);
  reactor::Task<void> abandon(control::FinishCreateTableRequest* request);

  txn::WorkerState& state_;
};

}  // namespace namdb::schema
