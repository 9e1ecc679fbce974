// Building secondary indexes that are B+-trees, anew or in the place of another.
//
//   begin     name and id are reserved
//   prepare   its (empty) parts, on their memory servers: keys of some rows say where one ends
//   ...       the steps of build_steps.h
//
// An index that is rebuilt goes the same way beside the one that it replaces. Transactions keep the old one
// as well until the new one is ready, which takes the other's place in the same step of the catalog. From
// then on no transaction keeps the old one, and older snapshots are shown what it has. The catalog drops it
// once no transaction has such a snapshot, and its parts are then discarded like others that the catalog does
// not have.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compute/api/transaction_facts.h"
#include "compute/schema/build_steps.h"
#include "proto/control_types.h"

namespace namdb::schema {

class TreeIndexBuilder {
 public:
  // An index over at least `split_rows` rows gets a part on each memory server. `worker` outlives this.
  TreeIndexBuilder(SchemaWorker& worker, std::size_t split_rows)
      : worker_(worker), steps_(worker), split_rows_(split_rows) {}

  // Begins and builds the index that `wanted` describes. All arguments outlive the task. `violation` as in
  // IndexDefinition.
  reactor::Task<Status> build(storage::TableRef table, const control::IndexDescriptor* wanted,
                              txn::Violation* violation);

 private:
  class Entries;

  reactor::Task<Status> build_begun(storage::TableRef table, control::IndexDescriptor* index,
                                    txn::Violation* violation);
  // Where the keys of the table's index are to be split into parts.
  reactor::Task<Result<std::vector<std::string>>> choose_splits(storage::TableRef table,
                                                                const control::IndexDescriptor* index);

  SchemaWorker& worker_;
  BuildSteps steps_;
  std::size_t split_rows_;
};

}  // namespace namdb::schema
