// The rows of several ranges of one secondary index, read side by side, 64 ranges at a time: the entries of
// all these ranges are requested together, and then the records of all entries. The entries of a hash index
// come range after range.
#pragma once

#include <vector>

#include "compute/api/index.h"
#include "compute/api/table.h"
#include "compute/api/transaction.h"
#include "compute/txn/staged_transaction.h"

namespace namdb::protocol {

// txn::Transaction::find_each().
reactor::Task<Status> find_each(StagedTransaction* transaction, storage::TableRef table,
                                storage::IndexRef index, std::vector<txn::IndexRange> ranges, txn::RowUse use,
                                std::vector<std::vector<txn::RowId>>* rows);

}  // namespace namdb::protocol
