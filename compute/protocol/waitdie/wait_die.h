// WAITDIE, as RCC runs it (its §4.3), and fair: two-phase locking (two_phase_locking.h) where the older
// transaction waits for the younger, and the younger gives way to the older.
//
//   metadata   beside the lock, behind the record's body, the waiter word: slot and priority of the oldest
//              transaction that waits, as in its locks, 0 = none (common/layout/record_trailer.h). The waiter
//              sets it by CAS before it READs the lock again, and clears it by CAS when it is over.
//   why there is no starvation   a waiter READs the lock again and again, as one-sided operations can, so a
//              younger transaction may take it in between. The younger one READs the waiter word together
//              with the record, or behind the CAS that locked it, and gives way if the waiter is older; and
//              it does not try to lock the record again while the older one waits. So a waiter is overtaken
//              at most by the CASes that were under way. Transactions keep their age when they try again:
//              each becomes the oldest one day, which none overtakes and which gives way to none. That holds
//              for records that are locked as they are read; records that are validated at commit may have
//              been changed.
//   dead waiters   are known by their slot: it is not leased any more. Then the word is cleared.
//
// Where the stage `lock` runs two-sided, a transaction waits at the memory server
// (common/calls/lock_calls.h), in RCC's waiting list: the answer comes when it has the lock. It sets the
// waiter word all the same: others' CASes may be sent with their one-sided READs.
//
// Ages are unique: of equal ones the slot decides (compute/protocol/two_phase_locking/priority_clock.h).
#pragma once

#include "common/reactor/stable_vector.h"
#include "compute/protocol/two_phase_locking/two_phase_locking.h"

namespace namdb::protocol {

class WaitDie final : public TwoPhaseLocking, public LockQueues {
 public:
  WaitDie(TransactionState& transaction, LockerState& lockers) : TwoPhaseLocking(transaction, lockers) {
    wait_in(*this);
  }

  LockRead add_lock(Lookup& lookup, txn::BatchSet& batches) override;
  void check_locks() override;
  reactor::Task<Result<QueueWait>> wait_for_locks(std::span<Lookup* const> lookups) override;
  void add_unlocks(txn::BatchSet& batches) override;
  void after_unlock() override;
  bool unlocks_beside(layout::ServerId server) const override;
  ReadDecision meet_lock(layout::HeaderWord lock) override;
  GenerationEnd end(std::uint64_t generation, const Status& outcome, bool wrote) override;

 protected:
  std::uint32_t draw_priority() override;
  reactor::Task<Status> meet_waiters(const reactor::PooledVector<SeenWaiter>* waiters) override;
  void add_other_words(reactor::PooledVector<HeldLock>& locks) override;

 private:
  // A waiter word that this transaction has set.
  struct Announced {
    layout::GlobalAddress word;
    layout::HeaderWord before;
    fabric::LocalBuffer found;
  };
  bool older_than(layout::Stamp other) const;
  // Its record, which is to be locked, was this key's when it was READ, and is locked by a younger
  // transaction.
  bool waits_for(const Lookup& lookup) const;
  reactor::Task<Status> clear(const SeenWaiter* seen);

  reactor::StableVector<Announced> posted_;
  reactor::StableVector<Announced> announced_;
};

}  // namespace namdb::protocol
