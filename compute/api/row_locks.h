// Rows that a transaction wants to lock without a wait for others. Implementations of Transaction that know
// of locks implement this as well; row_locks() finds it. The transaction's thread rules hold.
#pragma once

#include "compute/api/transaction.h"

namespace namdb::txn {

class RowLocks {
 public:
  virtual ~RowLocks() = default;
  // True: a row that get() requests is locked from the return of fetch() to the end of the transaction.
  // False: a change by another transaction is detected at commit.
  virtual bool locks_at_once() const = 0;
  // Of a transaction that will never commit: rows are read as they were last committed, whether others have
  // locked them or not, and none is locked. Before the first one is read.
  virtual void read_past_locks() = 0;
  // While on, rows that other transactions have locked are passed over: scans do not give them, and fetch()
  // does not find them. They count as not read.
  virtual void pass_over_locked(bool on) = 0;
  // After fetch(): whether the row was passed over. It may be asked for again.
  virtual bool passed_over(RowId row) const = 0;
  // The transaction itself has changed the row.
  virtual bool has_written(RowId row) const = 0;
};

// Null if the transaction knows of no locks.
inline RowLocks* row_locks(Transaction* transaction) {
  return dynamic_cast<RowLocks*>(transaction);
}

}  // namespace namdb::txn
