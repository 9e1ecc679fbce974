// Adding the rows of a table to an index that is being built, while others write.
//
// Every transaction that may commit knows of the index already and adds entries for the rows that it changes.
// So the builder adds entries for the versions that its snapshots show, which are taken after that. No entry
// is missing afterwards: a later version has its entry from its own commit.
#pragma once

#include <vector>

#include "common/layout/row.h"
#include "compute/api/transaction_facts.h"
#include "compute/txn/transaction_state.h"

namespace namdb::protocol {

// Two rows with entries under the same values of a unique index.
struct IndexRivals {
  std::string declared;  // the values, as they stand in the key
  std::vector<std::byte> first;
  std::vector<std::byte> second;
  bool more = false;  // than these two have such entries, and not all of them are known
};

// Adds the rows' entries. The pairs that may break a unique index are appended to `rivals`.
reactor::Task<Status> load_entries(txn::WorkerState* worker, storage::IndexRef index,
                                   const std::vector<layout::Row>* rows, std::vector<IndexRivals>* rivals,
                                   fabric::OperationCounters* counters);

// Checks the newest versions of the rivals' rows, and leaves in `rivals` those that cannot be decided yet.
// Errors duplicate_key when both rows of a pair have the values, serialization_failure when there are too
// many to know them all. `transaction` is fresh. `violation` may be null; with duplicate_key it receives one
// of the rows.
reactor::Task<Status> settle_rivals(TransactionState* transaction, storage::TableRef table,
                                    storage::IndexRef index, std::vector<IndexRivals>* rivals,
                                    txn::Violation* violation);

}  // namespace namdb::protocol
