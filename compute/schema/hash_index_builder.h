// Building hash indexes. The entries are rows of a table of their own, which is created like others; in the
// catalog its index is then *building*, and the steps are those of build_steps.h.
//
// Rows are entered by transactions, some rows in each (index/hash_entries.h). A transaction that meets a
// conflict is tried again with fewer rows, so that a row that other transactions write all the time delays no
// other row.
//
// If the builder dies, the catalog drops the index with the peer. Workers find the memory that memory servers
// still keep for the index as they find that of other orphan tables (recovery/orphan_tables.h).
#pragma once

#include <cstdint>

#include "compute/api/engine.h"
#include "compute/schema/build_steps.h"
#include "compute/schema/tables.h"

namespace namdb::schema {

class HashIndexBuilder {
 public:
  // Both outlive this.
  HashIndexBuilder(SchemaWorker& worker, Tables& tables) : worker_(worker), tables_(tables), steps_(worker) {}

  // Begins and builds the index; definition.hash holds.
  reactor::Task<Status> build(storage::TableRef table, txn::IndexDefinition definition);

 private:
  class Entries;

  // `violation` as in IndexDefinition.
  reactor::Task<Status> build_begun(storage::TableRef table, std::uint32_t index,
                                    std::uint64_t catalog_version, txn::Violation* violation);

  SchemaWorker& worker_;
  Tables& tables_;
  BuildSteps steps_;
};

}  // namespace namdb::schema
