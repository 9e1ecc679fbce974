// Checks index entries that are in doubt, for a memory server that asks for it
// (common/calls/index_calls.h): whether the record's newest version still has the entry's key.
#pragma once

#include "compute/txn/transaction_state.h"

namespace namdb::protocol {

// Takes some of the server's doubts and settles them. `transaction` is fresh, and good for nothing else
// afterwards. True if there may be more to look at.
reactor::Task<Result<bool>> settle_doubts(TransactionState* transaction, layout::ServerId server);

}  // namespace namdb::protocol
