// Two-phase locking without deadlocks: NOWAIT and WAITDIE, as RCC runs them (its §4.2 and §4.3). Rows that
// are read by key and may be written (Transaction::get) are locked when they are read, and unlocked when the
// transaction is over.
//
//   metadata   the record's header word, as in optimistic concurrency control, locked as ⟨slot, priority,
//              locked⟩: the priority is not the counter of the commit, which is drawn at its end. Under
//              WAITDIE it is the transaction's age, kept when it tries again (priority_clock.h);
//              slot and priority are unique and ordered. Records keep no old versions.
//   written by the holder of the lock: body, then the header word
//   why it is serializable   a row that was locked is held until the commit is installed. Other reads (rows
//              that are only to be read, keys that were not there, whole tables, index ranges and their rows)
//              hold no lock, but are validated while all locks are held, as in optimistic concurrency
//              control: all reads were true at once, at that moment.
//   why there is no deadlock   NOWAIT never waits for a transaction. Under WAITDIE a transaction waits only
//              for a younger one, or while it holds no lock itself. Bucket chains are locked at commit, in
//              the order of their addresses (chain_locks.h), and no transaction waits for a record while it
//              holds one. wait_die.h describes the waiting.
//
// A lock is taken by a CAS that is posted together with the READ of the record and before it (RCC §4.2),
// where this worker knows the header word that it last saw (header_guesses.h). Where it does not,
// or the word has changed, the lock is taken by a CAS from the version that was READ; if that version was
// changed in between, both are posted again. A row that was read without a lock and is to be written later is
// locked from the version that was shown, or there is a conflict.
//
// Rows that are only to be read are not locked, but validated; or locked like others, so that readers exclude
// each other; or shared, in databases whose records have reader words (reader_words.h). A row that is shared
// and then to be written is locked from the version that was read, which is still there. The writer waits for
// other readers, or gives way, when it has its locks, and before fetch() returns its rows.
#pragma once

#include <memory>

#include "common/reactor/stable_vector.h"
#include "compute/commit/read_validator.h"
#include "compute/protocol/two_phase_locking/locking_protocol.h"
#include "compute/protocol/two_phase_locking/reader_words.h"
#include "compute/txn/concurrency_control.h"
#include "compute/txn/latest_committed.h"
#include "compute/txn/lock_owner.h"
#include "compute/txn/locking.h"
#include "compute/txn/lookup_runner.h"
#include "compute/txn/transaction_state.h"

namespace namdb::protocol {

class TwoPhaseLocking : public ConcurrencyControl, public Locking, public LockOwner {
 public:
  // Both outlive it.
  TwoPhaseLocking(TransactionState& transaction, LockerState& lockers);
  ~TwoPhaseLocking() override;

  // --- Locking ---
  reactor::Task<Status> before_fetch() override { return begin_locking(); }
  LockRead add_lock(Lookup& lookup, txn::BatchSet& batches) override;
  void check_locks() override;
  reactor::Task<Status> after_fetch(std::span<const txn::RowId> rows) override;
  reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> commit_slot() override;
  void add_unlocks(txn::BatchSet& batches) override;
  void after_unlock() override;
  bool unlocks_beside(layout::ServerId server) const override;
  void after_install() override;

  // --- LockOwner ---
  layout::HeaderWord own_lock() const override { return layout::HeaderWord(own_, false, true); }
  bool has_locked(layout::GlobalAddress record) override { return find_lock(record) != nullptr; }
  bool holds_rows() const override { return !held_.empty() || readers_.any(); }

  // --- ConcurrencyControl ---
  Status may_write(const Access& /*access*/) const override { return {}; }
  layout::Stamp lock_stamp(layout::Stamp /*stamp*/) override { return own_; }
  GenerationEnd end(std::uint64_t generation, const Status& outcome, bool wrote) override;

 protected:
  TransactionState& transaction() const { return transaction_; }
  LockerState& lockers() const { return lockers_; }
  virtual std::uint32_t draw_priority() { return lockers_.priorities.next(); }
  layout::Stamp own_stamp() const { return own_; }
  txn::ExecutionSlot& own_slot() { return *slot_; }
  // A transaction that waits for a row that is to be locked, or has just been locked.
  struct SeenWaiter {
    layout::GlobalAddress record;
    const storage::Table* table;
    layout::HeaderWord waiter;
  };
  // Error serialization_failure: the transaction gives way.
  virtual reactor::Task<Status> meet_waiters(const reactor::PooledVector<SeenWaiter>* /*waiters*/) {
    co_return Status();
  }
  // Other words that are set in records, to be given back with the locks; they then are forgotten.
  virtual void add_other_words(reactor::PooledVector<HeldLock>& locks);
  std::uint64_t learned() const { return learned_; }
  // A lock that was taken otherwise: it replaced `unlocked`.
  void hold(layout::GlobalAddress record, layout::HeaderWord unlocked);
  reactor::Task<Status> read_again(const reactor::PooledVector<txn::RowId>* rows);
  // Locks those of the rows that have a record.
  reactor::Task<Status> lock_rows(reactor::PooledVector<txn::RowId> rows);

 private:
  struct Held {
    layout::GlobalAddress record;
    layout::HeaderWord unlocked;  // while it is posted by name: 0
    fabric::LocalBuffer word;     // the word that the CAS found, then the one that unlocks; the waiter word
    const Access* access = nullptr;  // null until after_fetch() has found whose it is
    // Where records have reader words: the waiter word and the reader words, READ behind the CAS. A reader
    // word that was cleared since is 0.
    fabric::LocalBuffer behind;
    std::byte* reader(std::uint32_t index) const { return behind.data() + 8 + 8 * index; }
    bool written() const {
      return access != nullptr && access->write != WriteKind::none && access->writes_in_place();
    }
  };
  reactor::Task<Status> begin_locking();
  bool reads_trailer() const { return transaction_.worker().cluster.protocol().reads_trailer; }
  // Whether the row is locked; notes it in the row.
  bool claim(Access& access);
  Held* find_lock(layout::GlobalAddress record);
  Held& add(reactor::StableVector<Held>& locks, layout::GlobalAddress record, layout::HeaderWord unlocked);
  Held& post_lock(layout::GlobalAddress record, layout::HeaderWord unlocked, txn::BatchSet& batches);
  // Moves the posted locks that were taken to held_.
  void collect();
  // Another transaction has locked the row, and this one does without.
  static void pass_over(Access& access);
  // Locks the rows that are as they were read; the others are left in `rows`.
  reactor::Task<Status> request_locks(reactor::PooledVector<txn::RowId>* rows);
  // --- shared_locks.cc ---
  // Takes readers' locks of these rows, where that is possible within some rounds.
  reactor::Task<Status> share(reactor::PooledVector<txn::RowId> rows);
  // Whether the row is shared, or cannot be; notes it in the row.
  bool is_shared(Access& access);
  reactor::Task<Status> request_shares(reactor::PooledVector<txn::RowId>* rows);
  // For the locks in unmet_: returns once no other transaction reads their rows.
  reactor::Task<Status> meet_readers();
  // Whether another transaction reads the locked row. Error: this transaction gives way. `since_ns`: it
  // waited for the readers since then, or 0.
  Result<bool> meet_readers_of(const Held& lock, std::uint64_t since_ns);
  reactor::Task<Status> read_reader_words();
  // The transactions that wait for those rows.
  reactor::PooledVector<SeenWaiter> waiters_of(std::span<const txn::RowId> rows) const;

  TransactionState& transaction_;
  LockerState& lockers_;
  LatestCommitted latest_;
  ReadValidator validator_;
  std::shared_ptr<txn::ExecutionSlot> slot_;
  layout::Stamp own_;
  reactor::StableVector<Held> posted_;
  reactor::StableVector<Held> held_;
  reactor::PooledVector<Held*> unmet_;  // those of held_ whose readers are still to be met
  ReaderWords readers_;                 // the transaction's own
  std::uint64_t learned_;               // reuse epochs, when the transaction began
};

}  // namespace namdb::protocol
