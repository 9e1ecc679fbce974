// Two-phase locking without deadlocks: NOWAIT and WAITDIE, as RCC runs them (its §4.2 and §4.3). Rows that
// are read by key and may be written (Transaction::get) are locked when they are read, and unlocked when the
// transaction is over.
//
//   metadata   the record's header word, as in optimistic concurrency control, locked as ⟨slot, priority,
//              locked⟩: the priority is not the counter of the commit, which is drawn at its end. Under
//              WAITDIE it is the transaction's age, kept when it tries again (compute/txn/priority_clock.h);
//              slot and priority are unique and ordered. Records keep no old versions.
//   written by the holder of the lock: body, then the header word
//   why it is serializable   a row that was locked is held until the commit is installed. What was read
//              otherwise (rows that are only to be read, keys that were not there, whole tables, index ranges
//              and their rows) is not held, but validated while everything else is, as in optimistic
//              concurrency control: all that was read was true at once, at that moment.
//   why nobody waits in a circle   NOWAIT never waits for a transaction. Under WAITDIE a transaction waits
//              only for a younger one, or while it holds no lock itself. Bucket chains are locked at commit,
//              in the order of their addresses (chain_locks.h), and no transaction waits for a record while
//              it holds one. waitdie_rules.h has the waiting.
//
// A lock is taken by a CAS that is posted together with the READ of the record and before it (RCC §4.2),
// where this worker knows what the header word was when it last saw it (compute/txn/header_guesses.h). Where
// it does not, or is wrong, by a CAS from the version that was READ; when that was changed in between, both
// come again. A row that was read without a lock and is asked for again to be written is locked from the
// version that was shown, or there is a conflict.
//
// Rows that are only to be read are not locked, but validated; or locked like others, so that readers meet;
// or shared, in databases whose records have reader words (reader_words.h). A row that is shared and then to
// be written is locked from the version that was read, which is still there. The writer waits for other
// readers, or gives way, when it has its locks, and before its rows are shown to anybody.
#pragma once

#include <memory>

#include "compute/protocol/occ/optimistic_rules.h"
#include "compute/protocol/two_phase_locking/reader_words.h"
#include "compute/txn/lock_releaser.h"
#include "compute/txn/priority_clock.h"

namespace namdb::protocol {

class LockingRules : public OptimisticRules {
 public:
  explicit LockingRules(StagedTransaction& transaction,
                        Duties duties = {.locks_rows = true, .validates_reads = true});
  ~LockingRules() override;

  reactor::Task<Status> will_fetch() override { return begin_locking(); }
  bool holds(layout::GlobalAddress record) override { return held_at(record) != nullptr; }
  void lock_along(Lookup& lookup, txn::BatchSet& batches) override;
  void look_at_locks() override;
  reactor::Task<Status> fetched(std::span<const txn::RowId> rows) override;
  reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> slot() override;
  layout::Stamp lock_stamp(layout::Stamp stamp) override;
  void unlock(txn::BatchSet& batches) override;
  void unlocked() override;
  void installed() override;
  bool give_up(std::uint64_t generation, const Status& outcome, bool wrote) override;

 protected:
  layout::HeaderWord own_lock() const override { return layout::HeaderWord(own_, false, true); }
  bool holds_rows() const override { return !held_.empty() || readers_.any(); }
  virtual std::uint32_t draw_priority() { return transaction().worker().priorities.next(); }
  layout::Stamp own_stamp() const { return own_; }
  txn::ExecutionSlot& own_slot() { return *slot_; }
  // Somebody who waits for a row that is to be locked, or has just been.
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
  virtual void add_other_words(reactor::PooledVector<txn::HeldLock>& locks);
  std::uint64_t learned() const { return learned_; }
  // A lock that was taken otherwise: it replaced `unlocked`.
  void hold(layout::GlobalAddress record, layout::HeaderWord unlocked);

 private:
  struct Held {
    layout::GlobalAddress record;
    layout::HeaderWord unlocked;
    fabric::LocalBuffer word;        // what CAS found, then what unlocks; behind it, who waits
    const Access* access = nullptr;  // null until fetched() has found whose it is
    // Where records have reader words: who waits, and the reader words, READ behind the CAS. Words of others
    // that are there no more are 0.
    fabric::LocalBuffer behind;
    std::byte* reader(std::uint32_t index) const { return behind.data() + 8 + 8 * index; }
    bool written() const {
      return access != nullptr && access->write != WriteKind::none && access->writes_in_place();
    }
  };
  reactor::Task<Status> begin_locking();
  // Whether the row is locked; notes it in the row.
  bool own(Access& access);
  Held* held_at(layout::GlobalAddress record);
  Held& add(reactor::PooledDeque<Held>& locks, layout::GlobalAddress record, layout::HeaderWord unlocked);
  Held& ask_for(layout::GlobalAddress record, layout::HeaderWord unlocked, txn::BatchSet& batches);
  // What became of those that were asked for.
  void take();
  // Takes of the rows those that were as they were read; the others are left in `rows`.
  reactor::Task<Status> ask(reactor::PooledVector<txn::RowId>* rows);
  reactor::Task<Status> read_again(const reactor::PooledVector<txn::RowId>* rows);
  reactor::Task<Status> lock_rows(reactor::PooledVector<txn::RowId> rows);
  // --- meeting_readers.cc ---
  // Has these rows shared that can be, but for those that others keep taking.
  reactor::Task<Status> share(reactor::PooledVector<txn::RowId> rows);
  // Nothing is left to do about the row.
  bool settled(Access& access);
  reactor::Task<Status> ask_to_share(reactor::PooledVector<txn::RowId>* rows);
  // Of the locks in unmet_: returns once nobody reads their rows.
  reactor::Task<Status> meet_readers();
  // Whether somebody reads that one's row. Error: the transaction gives way. `since_ns`: it waited for the
  // readers since then, or 0.
  Result<bool> meet_readers_of(const Held& lock, std::uint64_t since_ns);
  reactor::Task<Status> look_behind();
  // The transactions that wait for those rows.
  reactor::PooledVector<SeenWaiter> waiters_of(std::span<const txn::RowId> rows) const;

  std::shared_ptr<txn::ExecutionSlot> slot_;
  layout::Stamp own_;
  reactor::PooledDeque<Held> asked_;
  reactor::PooledDeque<Held> held_;
  reactor::PooledVector<Held*> unmet_;  // those of held_ whose readers are still to be met
  ReaderWords readers_;                 // the transaction's own
  std::uint64_t learned_;               // reuse epochs, when the transaction began
};

}  // namespace namdb::protocol
