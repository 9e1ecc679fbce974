// Facts that a transaction can tell beside the errors of its operations. Implementations of Transaction that
// can tell implement this as well; transaction_facts() asks. Same thread rules as the transaction's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "compute/api/table.h"
#include "compute/api/transaction.h"

namespace namdb::txn {

// The table, constraint and row that a duplicate_key is about.
struct Violation {
  storage::TableRef table;             // of the row
  std::string constraint;              // or the unique index
  std::vector<std::uint32_t> columns;  // of the table, in the order of the constraint
  std::vector<std::byte> row;          // that has the values which are there already
};

// What others held, in a serialization_failure.
struct MetLock {
  layout::GlobalAddress held;  // a record, or a bucket chain; null: nothing, or nothing is known of it
  std::uint64_t since_ns = 0;  // the transaction has waited for it since then, by the executor's clock
};

class TransactionFacts {
 public:
  virtual ~TransactionFacts() = default;
  // Of the duplicate_key that ended the transaction; null when there was none, or nothing is known of it.
  // Valid as long as the transaction.
  virtual const Violation* violation() const = 0;
  // Of the conflict that ended the transaction.
  virtual MetLock met_lock() const { return {}; }
  // Not ok once the transaction was ended because it did nothing for longer than the maximal transaction
  // time: transaction_timeout. Nothing is held any more.
  virtual Status expired() const = 0;
};

// Null when it can tell nothing.
inline const TransactionFacts* transaction_facts(const Transaction* transaction) {
  return dynamic_cast<const TransactionFacts*>(transaction);
}

}  // namespace namdb::txn
