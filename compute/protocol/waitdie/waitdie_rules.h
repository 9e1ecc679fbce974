// WAITDIE, as RCC runs it (its §4.3), and fair: two-phase locking (locking_rules.h) where the older
// transaction waits for the younger, and the younger gives way to the older.
//
//   metadata   beside the lock, behind the record's body, who waits for it: slot and priority of the oldest,
//              as in its locks, 0 = nobody (RecordLayout::waiter_offset). Set by CAS by who waits, before his
//              next look at the lock, and cleared by CAS by him when he is over.
//   nobody is overtaken for ever   the lock is looked for again and again, as one-sided operations can, so
//              that a younger transaction may take it in between. It READs who waits together with the
//              record, or behind the CAS that locked it, and gives way if that one is older; and it does not
//              ask for the lock again while he waits. So a waiter is overtaken at most by the CASes that were
//              under way. Transactions keep their age when they try again: each becomes the oldest one day,
//              whom nobody overtakes and who gives way to nobody. That goes for records that are locked as
//              they are read; what is validated at commit others may have changed.
//   who waits and is dead   is known by his slot: nobody has leased it any more. Then the word is cleared.
//
// Where the stage `lock` runs two-sided, who waits does so at the memory server (common/calls/lock_calls.h),
// in RCC's waiting list: the answer comes when he has the lock. He says in the record that he waits all the
// same: others' CASes may go along with their one-sided READs.
//
// Ages are unique: of equal ones the slot decides (compute/txn/priority_clock.h).
#pragma once

#include "compute/protocol/two_phase_locking/locking_rules.h"

namespace namdb::protocol {

class WaitDieRules : public LockingRules {
 public:
  explicit WaitDieRules(StagedTransaction& transaction)
      : LockingRules(transaction, {.locks_rows = true, .has_waiters = true, .validates_reads = true}) {}

  void lock_along(Lookup& lookup, txn::BatchSet& batches) override;
  void look_at_locks() override;
  reactor::Task<Result<bool>> wait_for_locks(const reactor::PooledVector<Lookup*>* lookups) override;
  void unlock(txn::BatchSet& batches) override;
  void unlocked() override;
  bool give_up(std::uint64_t generation, const Status& outcome, bool wrote) override;

 protected:
  std::uint32_t draw_priority() override;
  Judgement meet_lock(layout::HeaderWord lock) override;
  reactor::Task<Status> meet_waiters(const reactor::PooledVector<SeenWaiter>* waiters) override;
  void add_other_words(reactor::PooledVector<txn::HeldLock>& locks) override;

 private:
  // A word that says that this transaction waits.
  struct Announced {
    layout::GlobalAddress word;
    layout::HeaderWord before;
    fabric::LocalBuffer found;
  };
  bool older_than(layout::Stamp other) const;
  // Its record, which is to be locked, was this key's when it was READ, and is locked by somebody who is
  // younger.
  bool waits_for(const Lookup& lookup) const;
  reactor::Task<Status> clear(const SeenWaiter* seen);

  reactor::PooledDeque<Announced> asked_;
  reactor::PooledDeque<Announced> announced_;
};

}  // namespace namdb::protocol
