// The newest versions of some records, which decide whether an index entry still holds.
//
// The answers are of the moment of the call or of a later one: they show all writes of a commit that held the
// record's lock (for a new row, its chain's) before the call began, and has released it since. A record that
// another transaction has locked, or whose newest version the transaction does not see, is undecided. The
// transaction's own lock of a record hides nothing; its own writes are not in the answers.
#pragma once

#include <deque>
#include <vector>

#include "common/layout/row.h"
#include "common/layout/stamp.h"
#include "compute/api/table.h"
#include "compute/txn/lookup.h"

namespace namdb::protocol {

class TransactionState;

struct LatestRow {
  enum class State : std::uint8_t { undecided, absent, present };
  LatestRow(storage::TableRef owner, std::vector<std::byte> key_bytes)
      : table(std::move(owner)), key(std::move(key_bytes)) {}

  storage::TableRef table;
  std::vector<std::byte> key;
  Lookup lookup;
  State state = State::undecided;

  // present: the version that is newest and that the snapshot shows.
  layout::RowView row() const { return {table->schema, lookup.payload()}; }
};

// Fills in the states. A chain that is locked by `own_lock` counts as free. The rows stay where they are
// until this returns.
reactor::Task<Status> read_latest(TransactionState* transaction, std::deque<LatestRow>* rows,
                                  layout::HeaderWord own_lock);

}  // namespace namdb::protocol
