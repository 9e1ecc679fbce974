// Creating, altering and dropping tables.
//
// A table is created together with the indexes of its UNIQUE constraints. All are begun in the catalog,
// prepared on the memory servers, and finished in one step of the catalog. So no transaction sees the table
// without its indexes. If the creator dies before that, nothing is left: the catalog forgets what the creator
// had begun, and heartbeats find what memory servers keep for it (recovery/orphan_tables.h).
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/table_change.h"
#include "compute/txn/worker_state.h"
#include "proto/control_types.h"

namespace namdb::schema {

struct CreatedTable {
  std::uint32_t id = 0;
  std::uint64_t catalog_version = 0;  // that has it
};

class Tables {
 public:
  // `state` is a connection's, and outlives this.
  explicit Tables(txn::WorkerState& state) : state_(state) {}

  // As in Engine.
  reactor::Task<Status> create(txn::TableDefinition definition);
  reactor::Task<Status> drop(std::string name);
  reactor::Task<Status> alter(txn::TableAlteration alteration);

  // A table that is to replace that one, unless it is 0.
  reactor::Task<Result<CreatedTable>> create(txn::TableDefinition definition, std::uint32_t replaces);
  // Frees the memory of a table that is in the catalog no more, on all memory servers.
  reactor::Task<Status> discard(std::uint32_t id);
  // The rest of creating a table that is begun in the catalog: prepares it and its indexes on the memory
  // servers and finishes it, or undoes all of it. The version of the catalog that has the table.
  reactor::Task<Result<std::uint64_t>> finish(control::FinishCreateTableRequest request);

 private:
  reactor::Task<Result<std::uint64_t>> prepare_and_finish(control::FinishCreateTableRequest* request);
  reactor::Task<Status> prepare(control::FinishCreateTableRequest* request);
  reactor::Task<Status> prepare_indexes(control::FinishCreateTableRequest* request);
  reactor::Task<void> abandon(control::FinishCreateTableRequest* request);
  // The catalog's description of the table; table_is_altered when it was altered since.
  reactor::Task<Status> describe(storage::TableRef table, control::TableDescriptor* descriptor);

  txn::WorkerState& state_;
};

}  // namespace namdb::schema
