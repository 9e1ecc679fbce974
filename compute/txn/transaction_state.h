// The state of one transaction: its read and write set, counters, the tables that it uses, its concurrency
// control, and how it ended. Lookups and scans, indexes, the commit and the protocols work on it; the
// operations of its user are staged_transaction.h. A function here waits for the network only to refresh the
// catalog, to confirm reads, and to learn the outcomes of the session's earlier commits.
#pragma once

#include <cstdint>
#include <memory>

#include "common/fabric/counters.h"
#include "compute/api/transaction.h"
#include "compute/api/transaction_facts.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/checked_tables.h"
#include "compute/txn/concurrency_control.h"
#include "compute/txn/read_write_set.h"
#include "compute/txn/row_buffers.h"
#include "compute/txn/session_state.h"
#include "compute/txn/worker_protocol.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

class TransactionState {
 public:
  // `user`: as which its user sees the transaction; asked for interrupts. All outlive it.
  TransactionState(const txn::Transaction& user, txn::WorkerState& worker, SessionState& session,
                   WorkerProtocol& protocol);
  TransactionState(const TransactionState&) = delete;
  TransactionState& operator=(const TransactionState&) = delete;

  txn::WorkerState& worker() const { return worker_; }
  SessionState& session() { return session_; }
  ConcurrencyControl& control() { return *control_; }
  const ConcurrencyControl& control() const { return *control_; }
  Visibility& visibility() { return control_->visibility(); }
  fabric::OperationCounters& mutable_counters() { return counters_; }
  CheckedTables& tables() { return tables_; }
  ReadWriteSet& rows() { return rows_; }
  const ReadWriteSet& rows() const { return rows_; }
  Accesses& accesses() { return rows_.accesses(); }
  // Rows that others have locked count as absent, and as not read.
  bool passes_over_locked() const { return passes_over_locked_; }
  // The memory for what lookups of these rows READ, and for the images of what is written.
  txn::RowBuffers& lookup_buffers() { return lookup_buffers_; }
  txn::RowBuffers& image_buffers() { return image_buffers_; }
  // The batches of lookups, used by one run of them at a time.
  txn::BatchSet& lookup_batches() { return lookup_batches_; }

  // The caller ends it in the registry: at the end of the transaction some of its work is still under way.
  std::uint64_t give_generation() {
    generation_given_ = true;
    return generation_;
  }

  bool ended() const { return ended_; }
  // Not ok once it has ended: why, as far as that is known.
  Status check_open() const;
  // After any READ: once the transaction has outlived E, error snapshot_too_old, or transaction_timeout if it
  // has changes; query_canceled when it is interrupted. Never in a commit.
  Status check_going_on() const;
  bool may_answer_early() const { return user_.answers_when_logged(); }
  // While there is one, the transaction is not idle. They nest.
  class Busy {
   public:
    explicit Busy(TransactionState& transaction) : transaction_(transaction) { ++transaction_.busy_; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() { --transaction_.busy_; }

   private:
    TransactionState& transaction_;
  };

  // The lock `word`, seen there, ends the transaction in a conflict. `since_ns`: it waited since then, or 0.
  void meet(layout::GlobalAddress locked, layout::HeaderWord word, std::uint64_t since_ns = 0);
  // Error if the user does not want the transaction to wait any longer for that lock. It waits since then.
  Status check_lock_wait(layout::GlobalAddress locked, std::uint64_t since_ns) const {
    return user_.check_wait(locked, since_ns);
  }
  // The row is why the transaction will end in duplicate_key.
  void note_violation(const storage::TableRef& table, const storage::Index& index, layout::RowView row);
  // The session's commits that were answered early are visible. Error connection_failure: some are not there
  // (deferred_commits.h); or the user's interrupt.
  reactor::Task<Status> wait_for_deferred() {
    return session_.deferred.wait_until_visible(worker_.outcomes, user_);
  }
  // Transaction::confirm_primaries(); true: nothing is to be waited for.
  bool primaries_held() const;
  reactor::Task<Status> confirm_primaries_of_reads();
  // `error`, which follows from the rows that were read, if all reads were true at once; else the error that
  // says why not.
  reactor::Task<Status> confirmed(Status error);

 protected:
  ~TransactionState() = default;

  // From when its age counts.
  std::uint64_t running_since_ns() const;
  // The first error of a fetch(), or why it was ended.
  const Status& failure() const { return failure_; }
  void fail(const Status& failure) { failure_ = failure; }
  bool busy() const { return busy_ != 0; }
  void set_passes_over_locked(bool on) { passes_over_locked_ = on; }
  // Ends the rest of the transaction. Afterwards it holds no lock, or its locks are being released in the
  // background. Once. `outcome`: of the commit, if there was one.
  void end(const Status& outcome);
  const fabric::OperationCounters& counters_so_far() const { return counters_; }
  const txn::Violation* noted_violation() const { return violation_.get(); }
  void note(txn::Violation violation) { violation_ = std::make_unique<txn::Violation>(std::move(violation)); }
  txn::MetLock last_met_lock() const { return met_lock_; }
  static constexpr const char* kOlderHint =
      "make it shorter, or start nam-memoryd with a larger --max-transaction-seconds";

 private:
  Status too_old() const;

  const txn::Transaction& user_;
  txn::WorkerState& worker_;
  SessionState& session_;
  std::uint64_t generation_ = 0;
  bool generation_given_ = false;
  bool ended_ = false;
  bool passes_over_locked_ = false;
  std::uint32_t busy_ = 0;
  std::uint64_t began_ns_ = 0;
  Status failure_;
  std::unique_ptr<txn::Violation> violation_;
  txn::MetLock met_lock_;
  txn::BatchSet lookup_batches_;
  fabric::OperationCounters counters_;
  txn::RowBuffers lookup_buffers_;
  txn::RowBuffers image_buffers_;
  ReadWriteSet rows_;
  CheckedTables tables_;
  std::unique_ptr<ConcurrencyControl> control_;
};

}  // namespace namdb::protocol
