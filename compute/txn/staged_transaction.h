// A transaction's rows as its user reads and writes them: fetch() READs the rows that get() and read() ask
// for, many keys at once, as the protocol says (concurrency_control.h); writes are buffered. The state is
// transaction_state.h; scans and the commit are added in compute/commit/engine_transaction.h.
#pragma once

#include <span>

#include "compute/api/engine.h"
#include "compute/api/row_locks.h"
#include "compute/api/transaction.h"
#include "compute/api/transaction_facts.h"
#include "compute/txn/running_transactions.h"
#include "compute/txn/transaction_state.h"

namespace namdb::protocol {

class StagedTransaction : public txn::Transaction,
                          public TransactionState,
                          public txn::TransactionFacts,
                          public txn::RowLocks,
                          private txn::RunningTransaction {
 public:
  StagedTransaction(txn::WorkerState& worker, SessionState& session, WorkerProtocol& protocol);
  ~StagedTransaction() override;

  static void* operator new(std::size_t bytes) { return reactor::allocate_frame(bytes); }
  static void operator delete(void* place, std::size_t bytes) { reactor::free_frame(place, bytes); }

  txn::RowId get(const storage::TableRef& table, std::span<const std::byte> key) override;
  txn::RowId read(const storage::TableRef& table, std::span<const std::byte> key) override;
  txn::RowId insert(const storage::TableRef& table, std::span<const std::byte> row) override;
  reactor::Task<Status> fetch() override;
  bool found(txn::RowId row) const override { return rows()[row].found(); }
  layout::RowView row(txn::RowId row) const override;
  layout::RowWriter update(txn::RowId row) override;
  void hold(txn::RowId row) override;
  void erase(txn::RowId row) override;
  Savepoint savepoint() override { return rows().savepoint(); }
  Status rollback_to(Savepoint savepoint) override;
  reactor::Task<Status> confirm_reads() override;
  reactor::Task<Status> confirm_primaries() override;
  void abort() override { abort_with(Status()); }
  bool has_writes() const override { return rows().has_writes(); }
  const fabric::OperationCounters& counters() const override { return counters_so_far(); }
  const txn::Violation* violation() const override { return noted_violation(); }
  txn::MetLock met_lock() const override { return last_met_lock(); }
  Status expired() const override { return expired_ ? failure() : Status(); }
  bool locks_at_once() const override;
  void read_past_locks() override;
  void pass_over_locked(bool on) override { set_passes_over_locked(on); }
  bool passed_over(txn::RowId row) const override { return rows()[row].passed_over; }
  bool has_written(txn::RowId row) const override { return rows()[row].write != WriteKind::none; }

 protected:
  // `outcome`: of the commit, if there was one.
  void abort_with(const Status& outcome);
  // Before a commit, where readers share locks: marks rows that were only read and then written, so that the
  // next fetch() locks them and checks their readers. The commit's own locks do not check readers.
  void lock_written_reads();

 private:
  std::uint64_t running_since_ns() const override { return TransactionState::running_since_ns(); }
  void expire() override;
  reactor::Task<Status> do_fetch();
  // The row is asked for again.
  void look_again(Access& access, txn::RowId row);
  void note_primary_violation(txn::RowId id);
  // A new row, one of many.
  void count_new(const Access& access);
  void expect_records();

  // The rows that are to be inserted, by their tables and memory servers.
  struct NewRows {
    storage::TableRef table;
    layout::ServerId server;
    std::uint64_t count;
  };
  reactor::PooledInlinedVector<NewRows, 1> new_rows_;
  bool expired_ = false;
  bool reads_past_locks_ = false;
};

}  // namespace namdb::protocol
