// A random sample of the keys that an index of a table has, or would have, to choose its parts by.
//
// Rows lie in the order of their keys' hashes, which is independent of the order of their values: so the
// first rows of every memory server are a random sample. The sample decides only how even the parts are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compute/txn/transaction_state.h"

namespace namdb::protocol {

struct IndexSample {
  const layout::IndexShape* shape = nullptr;
  // Only what the values take of each key.
  bool declared_only = false;
  std::size_t max_key_bytes = 0;  // longer keys, which no index can have, are left out
  layout::ServerId server = 0;    // whose rows are sampled
  std::size_t rows = 0;           // at most
  std::uint64_t enough_ns = 0;    // the time from which on no more are read
};

// Appends the keys, or those that were read before an error. `transaction` is fresh.
reactor::Task<Status> sample_index_keys(TransactionState* transaction, storage::TableRef table,
                                        IndexSample sample, std::vector<std::string>* keys);

}  // namespace namdb::protocol
