// A transaction: read set and write set over one snapshot, and its commit. SQL and procedures are written
// against this interface; they never see which protocol runs below it, and which transport.
//
// Reads are requested and then fetched together: any number of keys, one round trip when their locations are
// cached. Writes are buffered until commit and seen by the transaction's own reads. Isolation is what the
// database's protocol gives (snapshot isolation: all reads from one snapshot, first committer wins).
//
// Not thread-safe; belongs to its worker's executor. After any error from fetch(), a scan or commit() the
// transaction can only be aborted (abort() or the destructor), or returned to a savepoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/counters.h"
#include "common/layout/index_key.h"
#include "common/layout/row.h"
#include "common/reactor/task.h"
#include "compute/api/row_block.h"
#include "compute/api/table.h"

namespace namdb::txn {

// A row that a transaction reads or writes: valid as long as the transaction.
using RowId = std::uint32_t;

// Whether a row that is found may be written later, as by get(), or is only to be read, as by read().
enum class RowUse : std::uint8_t { may_change, only_read };

// In a scan the limit is only the probable number of rows that will be taken.
using IndexRange = layout::IndexRange;

// Reads a whole table, or a range of an index, in the transaction's snapshot, the transaction's own writes
// included. Rows written by the transaction after the scan began may or may not be seen. At most one next()
// at a time. Destroyed before its transaction.
class TableScan {
 public:
  virtual ~TableScan() = default;
  // Replaces `rows` by the next ones; empty at the end. Order is that of the hash index, or of the secondary
  // index that is scanned.
  virtual reactor::Task<Status> next(std::vector<layout::Row>& rows) = 0;
  // The same as a block, for those who read many rows.
  virtual reactor::Task<Status> next_block(RowBlock& rows) {
    rows.clear();
    std::vector<layout::Row> some;
    Status status = co_await next(some);
    for (const layout::Row& row : some) rows.add(row.schema(), row.bytes());
    co_return status;
  }
};

// Tells a transaction that its client no longer wants its result.
class Interrupt {
 public:
  virtual ~Interrupt() = default;
  // query_canceled once it should end. Cheap: it is asked after every batch.
  virtual Status check() const = 0;
  // The same for a transaction that has waited since `since_ns`, by the executor's clock, for a record or a
  // bucket chain at `held` that another one has locked.
  virtual Status check_wait(layout::GlobalAddress /*held*/, std::uint64_t /*since_ns*/) const {
    return Status();
  }
};

class Transaction {
 public:
  virtual ~Transaction() = default;

  // fetch() and scans check it and end with its error, also while they wait for others; a commit that has
  // begun to lock runs to its end. Borrowed, by default none.
  void set_interrupt(const Interrupt* interrupt) { interrupt_ = interrupt; }

  // When commit() answers, in a database that is `flushed`. If not set: once the commit is on disk, and
  // visible. If set, perhaps earlier: once its memory servers have its log in memory. Then it survives the
  // end of this compute server, but not always the loss of a memory server's memory; it becomes visible to
  // other sessions once it is on disk, and never in halves. The session's own transactions see it at once.
  void answer_when_logged(bool on) { answers_when_logged_ = on; }
  bool answers_when_logged() const { return answers_when_logged_; }

  // A moment of the transaction, to which it may return.
  using Savepoint = std::size_t;
  virtual Savepoint savepoint() { return 0; }
  // Forgets all writes since the savepoint, except those to kTransactionsTable (ids of transactions). Rows
  // that were read stay read, and locked, and RowIds stay valid. Later savepoints are void. Possible after
  // duplicate_key, too; after other errors of fetch(), and of scans, the error is returned again.
  virtual Status rollback_to(Savepoint /*savepoint*/) {
    return Status(ErrorCode::feature_not_supported, "this transaction has no savepoints");
  }

  // Requests the row with that key (Schema::key_bytes() long; copied). The same key gives the same RowId.
  // Under protocols that lock rows as they are read it is locked, since it may be written.
  virtual RowId get(const storage::TableRef& table, std::span<const std::byte> key) = 0;
  // The same of a row that is only to be read: other readers of it do not wait. It may be requested by get()
  // later. If the database's readers share locks, no other transaction writes it before this one ends.
  virtual RowId read(const storage::TableRef& table, std::span<const std::byte> key) {
    return get(table, key);
  }
  // Buffers a new row (Schema::row_bytes() long; copied). Whether the key is free is known after the next
  // fetch() (error duplicate_key) and for certain after commit(). NULL checks are the caller's business.
  virtual RowId insert(const storage::TableRef& table, std::span<const std::byte> row) = 0;
  // Reads all rows that were requested since the last fetch. Takes the snapshot if there is none yet.
  virtual reactor::Task<Status> fetch() = 0;

  // After fetch(): whether the row is visible; false after erase().
  virtual bool found(RowId row) const = 0;
  // The row as this transaction sees it; needs found(). Valid until the next update() of it or the end.
  virtual layout::RowView row(RowId row) const = 0;
  // The row's new image, at first a copy of the current one; needs found(). Key columns must not be changed.
  virtual layout::RowWriter update(RowId row) = 0;
  // Holds the row as it is; needs found(). If another transaction changes it before this one commits, this
  // one does not commit, as if it had written the row itself.
  virtual void hold(RowId row) { update(row); }
  // Buffers a delete; needs found().
  virtual void erase(RowId row) = 0;

  virtual std::unique_ptr<TableScan> scan(const storage::TableRef& table) = 0;
  // `index` is or was one of the table's. If the index was dropped, or is not ready for this transaction's
  // snapshot, the same rows come from the whole table. Error catalog_changed if these are too many, or if the
  // index is dropped in the middle of the scan.
  virtual std::unique_ptr<TableScan> scan_index(const storage::TableRef& table,
                                                const storage::IndexRef& index, IndexRange range) = 0;
  // The rows of the range, at most range.limit, in the order of the index, as by get() and fetch(); rows that
  // were requested before are fetched too. Replaces `rows`. Errors are those of scan_index().
  virtual reactor::Task<Status> find(storage::TableRef table, storage::IndexRef index, IndexRange range,
                                     std::vector<RowId>& rows) = 0;

  // The same of several ranges of one index: rows[i] are those of ranges[i]. They are read side by side, in
  // as many round trips as the one of them that takes the most; the entries of a hash index are read range
  // after range.
  virtual reactor::Task<Status> find_each(storage::TableRef table, storage::IndexRef index,
                                          std::vector<IndexRange> ranges, RowUse /*use*/,
                                          std::vector<std::vector<RowId>>& rows) {
    rows.assign(ranges.size(), {});
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      Status status = co_await find(table, index, std::move(ranges[i]), rows[i]);
      if (!status.ok()) co_return status;
    }
    co_return Status();
  }

  // Ok if all rows that were read until now are of one moment. Under a protocol that reads from a snapshot
  // they always are; under others this is certain only after commit(). Code that acts on rows before the
  // commit, with an error for the client for instance, confirms them first. Error serialization_failure.
  virtual reactor::Task<Status> confirm_reads() { co_return Status(); }

  // Ok if all rows that were read until now were read at the primaries of their regions. A region with copies
  // may get another host, and its rows may change there. Until a memory server has confirmed that this has
  // not happened, no row may leave the compute server. commit() does the same. Errors: serialization_failure,
  // connection_failure, the interrupt's.
  virtual reactor::Task<Status> confirm_primaries() { co_return Status(); }

  // Ends the transaction. Ok: committed, and visible to every snapshot taken from now on (but see
  // answer_when_logged()). Errors with info().retry: aborted, nothing happened; unknown_outcome: committed or
  // aborted; other errors: aborted.
  virtual reactor::Task<Status> commit() = 0;
  // Forgets everything; no effect after commit(). The destructor does the same.
  virtual void abort() = 0;

  virtual bool has_writes() const = 0;
  // The operations of this transaction so far.
  virtual const fabric::OperationCounters& counters() const = 0;

  // The interrupt's answers, for the parts of a transaction; Ok without one.
  Status check_interrupt() const { return interrupt_ == nullptr ? Status() : interrupt_->check(); }
  Status check_wait(layout::GlobalAddress held, std::uint64_t since_ns) const {
    return interrupt_ == nullptr ? Status() : interrupt_->check_wait(held, since_ns);
  }

 private:
  const Interrupt* interrupt_ = nullptr;
  bool answers_when_logged_ = false;
};

// The error to report when `error` follows from a transaction's rows before its commit: `error` itself or, if
// the rows were not all of one moment, a conflict, after which the transaction is tried again.
inline reactor::Task<Status> confirm_error(Transaction* transaction, Status error) {
  if (error.ok() || error.info().retry) co_return error;
  Status confirmed = co_await transaction->confirm_reads();
  co_return !confirmed.ok() && confirmed.info().retry ? confirmed : error;
}

}  // namespace namdb::txn
