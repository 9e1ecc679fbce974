// Releases locks of transactions that are over: whoever ends one does not wait for that. A generation of the
// registry ends only when its locks are released, since until then WRITEs to records are under way.
//
// It also ends transactions that hold locks and do nothing for longer than the maximal transaction time:
// their clients may never come back.
//
// When a channel fails, what is held stays held: the slot dies with the channel, and is repaired.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/layout/global_address.h"
#include "common/layout/stamp.h"
#include "common/reactor/executor.h"
#include "common/reactor/pooled_allocator.h"
#include "compute/txn/cluster.h"
#include "compute/txn/execution_slot.h"
#include "compute/txn/transaction_registry.h"

namespace namdb::txn {

// A word that is held, and what it is to be when it is not. It is WRITTEN; or, where others may have changed
// it since, CASed from `waiter`, and left alone then.
struct HeldLock {
  layout::GlobalAddress address;
  layout::HeaderWord unlocked;
  layout::HeaderWord waiter;
};

// Somebody who holds locks between two calls of its client.
class LockHolder {
 public:
  virtual ~LockHolder() = default;
  virtual std::uint64_t started_ns() const = 0;
  // Gives up, if it is idle.
  virtual void expire() = 0;

 private:
  friend class LockReleaser;
  std::uint64_t watched_as_ = 0;
};

class LockReleaser {
 public:
  LockReleaser(Cluster& cluster, TransactionRegistry& registry) : cluster_(cluster), registry_(registry) {}

  // Takes over the generation, and the caller's part of the slot (add_holder()).
  void release(std::shared_ptr<ExecutionSlot> slot, reactor::PooledVector<HeldLock> locks,
               std::uint64_t generation);
  // Between these two a holder may be told to expire.
  void watch(LockHolder& holder) {
    holder.watched_as_ = ++watched_;
    holders_.emplace(watched_, &holder);
  }
  void forget(LockHolder& holder) { holders_.erase(holder.watched_as_); }
  // Tells those that have begun longer ago than the maximal transaction time.
  void expire_idle();
  // Waits for what is under way; before destruction, and before the slots are given back.
  reactor::Task<void> close();

 private:
  reactor::Task<void> run(std::shared_ptr<ExecutionSlot> slot, reactor::PooledVector<HeldLock> locks,
                          std::uint64_t generation);
  Cluster& cluster_;
  TransactionRegistry& registry_;
  std::map<std::uint64_t, LockHolder*> holders_;  // in the order in which they came
  std::uint64_t watched_ = 0;
  reactor::Gate gate_;
};

}  // namespace namdb::txn
