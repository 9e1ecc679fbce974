// What a transaction has read and is going to write, and how it reads: many keys at once, as its protocol
// says (rules.h). Scans and the commit are built on it (compute/commit/engine_transaction.h).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "common/reactor/pooled_allocator.h"
#include "compute/api/engine.h"
#include "compute/api/transaction.h"
#include "compute/api/transaction_facts.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/access.h"
#include "compute/txn/rules.h"
#include "compute/txn/running_transactions.h"
#include "compute/txn/session_state.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

class StagedTransaction;
using MakeRules = std::unique_ptr<Rules> (*)(StagedTransaction& transaction);

class StagedTransaction : public txn::Transaction,
                          public txn::TransactionFacts,
                          private txn::RunningTransaction {
 public:
  StagedTransaction(txn::WorkerState& worker, SessionState& session, MakeRules make_rules);
  ~StagedTransaction() override;

  static void* operator new(std::size_t bytes) { return reactor::allocate_frame(bytes); }
  static void operator delete(void* place, std::size_t bytes) { reactor::free_frame(place, bytes); }

  txn::RowId get(const storage::TableRef& table, std::span<const std::byte> key) override;
  txn::RowId read(const storage::TableRef& table, std::span<const std::byte> key) override;
  txn::RowId insert(const storage::TableRef& table, std::span<const std::byte> row) override;
  reactor::Task<Status> fetch() override;
  bool found(txn::RowId row) const override;
  layout::RowView row(txn::RowId row) const override;
  layout::RowWriter update(txn::RowId row) override;
  void erase(txn::RowId row) override;
  reactor::Task<Status> confirm_reads() override;
  void abort() override;
  bool has_writes() const override;
  const fabric::OperationCounters& counters() const override { return counters_; }
  const txn::Violation* violation() const override { return violation_.get(); }
  txn::MetLock met_lock() const override { return met_lock_; }
  Status expired() const override { return expired_ ? failure_ : Status(); }

  // --- for the rules, scans and commit.h ---
  txn::WorkerState& worker() { return worker_; }
  SessionState& session() { return session_; }
  Rules& rules() { return *rules_; }
  fabric::OperationCounters& mutable_counters() { return counters_; }
  reactor::PooledDeque<Access>& accesses() { return accesses_; }
  const Access* find_access(const storage::Table& table, std::span<const std::byte> key);
  // The caller ends it in the registry: at the end of the transaction something of it is still under way.
  std::uint64_t give_generation() {
    generation_given_ = true;
    return generation_;
  }
  // Runs the lookups to their ends, in as few round trips as they allow; what the rules need before rows can
  // be judged goes along. The lookups stay where they are until this returns. Those of scans READ records
  // that are near one another together (run_reads.h).
  enum class Together : std::uint8_t { no, near };
  reactor::Task<Status> run_lookups(reactor::PooledVector<Lookup*> lookups,
                                    reactor::PooledVector<const storage::Table*> tables,
                                    Together together = Together::no);
  // After any READ: once the transaction has outlived E, error snapshot_too_old, or transaction_timeout if it
  // has changes; query_canceled when it is interrupted. Never in a commit.
  Status check_going_on() const;
  // While there is one, the transaction is not idle. They nest.
  class Busy {
   public:
    explicit Busy(StagedTransaction& transaction) : transaction_(transaction) { ++transaction_.busy_; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() { --transaction_.busy_; }

   private:
    StagedTransaction& transaction_;
  };
  // The lock `word`, seen there, ends the transaction in a conflict. `since_ns`: it waited since then, or 0.
  void meet(layout::GlobalAddress held, layout::HeaderWord word, std::uint64_t since_ns = 0);
  // Not ok once it has ended: why, as far as that is known.
  Status check_open() const;
  // The row is why the transaction will end in duplicate_key.
  void note_violation(const storage::TableRef& table, const storage::Index& index, layout::RowView row);
  // An error that follows from what was read: only if all of it was true at once; else why not.
  reactor::Task<Status> confirmed(Status error);
  // Until rows can be judged, for whoever READs without lookups.
  reactor::Task<Status> begin_reading();
  reactor::Task<Status> check_table(const storage::Table& table);
  // Of a table whose rows are waited for, now and then: once it is dropped nobody repairs what a dead commit
  // left half written there. Error catalog_changed.
  reactor::Task<Status> check_still_there(std::uint32_t table, std::uint32_t waits);
  // Something of the table is damaged, it seems. The error for it, counted; or another one if the table is
  // not there any more.
  reactor::Task<Status> damage(std::uint32_t table, Status error);
  // How long it waits without a break for what others hold.
  class Wait {
   public:
    // Another round is waited for, for what somebody holds there. Error: nobody wants to wait any longer.
    Status goes_on(const StagedTransaction& transaction, layout::GlobalAddress held);
    void ends() { since_ns_ = 0; }
    // Since when it waits for that; 0: it does not.
    std::uint64_t since_ns(layout::GlobalAddress held) const { return held_ == held ? since_ns_ : 0; }

   private:
    std::uint64_t since_ns_ = 0;
    layout::GlobalAddress held_;  // what it waited for last
  };
  // A moment of that, which is longer the more there were. Error: nobody wants to wait any longer.
  reactor::Task<Status> wait_for_others(Wait* wait, layout::GlobalAddress held, std::uint32_t waits);

 protected:
  // --- for commit() ---
  bool ended() const { return ended_; }
  // The first error of a fetch(), or why it was ended.
  const Status& failure() const { return failure_; }
  bool has_unfetched() const { return !unfetched_.empty(); }
  // Of what remains: nothing is held any more.
  void end(const Status& outcome) {
    outcome_ = outcome;
    abort();
  }
  void ask_for_locks_of_writes();

 private:
  Access& access(const storage::TableRef& table, std::span<const std::byte> key, txn::RowId& row);
  Access* find_row(std::uint32_t table, std::span<const std::byte> key, std::uint64_t hash, txn::RowId& row);
  std::uint64_t running_since_ns() const override;
  void expire() override;
  Status too_old() const;
  Status still_there(std::uint32_t table) const;
  reactor::Task<Status> do_fetch();
  void note_primary_violation(txn::RowId id);
  reactor::Task<Status> run_one_by_one(const reactor::PooledVector<Lookup*>* lookups,
                                       const reactor::PooledVector<const storage::Table*>* tables);
  reactor::Task<void> pause(std::uint32_t waits);
  // Leaves for later rounds what lookups would READ of older versions beyond a bound.
  static void put_off(reactor::PooledVector<Lookup*>& lookups, reactor::PooledVector<Lookup*>& later);

  txn::WorkerState& worker_;
  SessionState& session_;
  std::uint64_t generation_ = 0;
  bool generation_given_ = false;
  bool ended_ = false;
  std::uint32_t busy_ = 0;
  std::uint64_t began_ns_ = 0;
  bool expired_ = false;
  Status failure_;  // the first that fetch() reported
  Status outcome_;  // of the commit
  std::unique_ptr<txn::Violation> violation_;
  txn::MetLock met_lock_;
  txn::BatchSet batches_;
  fabric::OperationCounters counters_;
  reactor::PooledDeque<Access> accesses_;
  std::unordered_multimap<std::uint64_t, txn::RowId> by_hash_;  // used once there are many
  reactor::PooledVector<txn::RowId> unfetched_;
  struct CheckedTable {
    std::uint32_t id;
    std::size_t name_hash;
  };
  reactor::PooledVector<CheckedTable> checked_tables_;
  std::unique_ptr<Rules> rules_;
};

}  // namespace namdb::protocol
