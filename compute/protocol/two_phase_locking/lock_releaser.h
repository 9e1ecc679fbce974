// Releases locks of transactions that are over, in the background. A generation of the
// registry ends only when its locks are released, since until then WRITEs to records are under way.
//
// When a channel fails, locks stay held: the slot dies with the channel, and once it is closed they are
// undone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/layout/global_address.h"
#include "common/layout/stamp.h"
#include "common/reactor/executor.h"
#include "common/reactor/pooled_allocator.h"
#include "compute/cluster/cluster.h"
#include "compute/txn/execution_slot.h"
#include "compute/txn/transaction_registry.h"

namespace namdb::protocol {

// A word that is held, and its value when it is not. It is WRITTEN; or, where others may have changed it
// since, CASed from `waiter`, and left alone if that fails.
struct HeldLock {
  layout::GlobalAddress address;
  layout::HeaderWord unlocked;
  layout::HeaderWord waiter;
};

class LockReleaser {
 public:
  LockReleaser(txn::Cluster& cluster, txn::TransactionRegistry& registry)
      : cluster_(cluster), registry_(registry) {}

  // Takes over the generation, and the caller's part of the slot (add_holder()).
  void release(std::shared_ptr<txn::ExecutionSlot> slot, reactor::PooledVector<HeldLock> locks,
               std::uint64_t generation);
  // Waits for what is under way; before destruction, and before the slots are given back.
  reactor::Task<void> close();

 private:
  reactor::Task<void> run(std::shared_ptr<txn::ExecutionSlot> slot, reactor::PooledVector<HeldLock> locks,
                          std::uint64_t generation);
  txn::Cluster& cluster_;
  txn::TransactionRegistry& registry_;
  reactor::Gate gate_;
};

}  // namespace namdb::protocol
