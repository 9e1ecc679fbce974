// Facts about a transaction beside the errors of its operations. Implementations of Transaction that have
// such facts implement this as well; transaction_facts() finds it. The transaction's thread rules hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/layout/row.h"
#include "compute/api/table.h"
#include "compute/api/transaction.h"

namespace namdb::txn {

// The table, constraint and row that a duplicate_key is about.
struct Violation {
  storage::TableRef table;             // of the row; null: there is none, or it is not known
  std::string constraint;              // or the unique index
  std::vector<std::uint32_t> columns;  // of the table, in the order of the constraint
  std::vector<std::byte> row;          // that has the values which are there already
};

// The violation of a unique index by the row.
inline Violation violation_of(storage::TableRef table, const storage::Index& index, layout::RowView row) {
  Violation violation{std::move(table), index.name, {}, {row.bytes().begin(), row.bytes().end()}};
  for (const layout::IndexColumn& column : index.shape.columns()) violation.columns.push_back(column.column);
  return violation;
}

// The lock of another transaction that led to a serialization_failure.
struct MetLock {
  layout::GlobalAddress held;  // a record, or a bucket chain; null: none, or it is not known
  std::uint64_t since_ns = 0;  // the transaction has waited for it since then, by the executor's clock
};

class TransactionFacts {
 public:
  virtual ~TransactionFacts() = default;
  // Of the duplicate_key that ended the transaction; null when there was none, or its row is not known. Valid
  // as long as the transaction.
  virtual const Violation* violation() const = 0;
  // The lock behind the conflict that ended the transaction.
  virtual MetLock met_lock() const { return {}; }
  // Error transaction_timeout once the transaction was ended for being idle longer than the maximal
  // transaction time. It then holds no locks and no snapshot.
  virtual Status expired() const = 0;
};

// Null if the transaction has no such facts.
inline const TransactionFacts* transaction_facts(const Transaction* transaction) {
  return dynamic_cast<const TransactionFacts*>(transaction);
}

}  // namespace namdb::txn
