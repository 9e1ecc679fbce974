#include "compute/protocol/two_phase_locking/lock_releaser.h"

#include "common/layout/words.h"
#include "compute/cluster/batch_set.h"

namespace namdb::protocol {

void LockReleaser::release(std::shared_ptr<txn::ExecutionSlot> slot, reactor::PooledVector<HeldLock> locks,
                           std::uint64_t generation) {
  cluster_.executor().spawn(gate_, run(std::move(slot), std::move(locks), generation));
}

reactor::Task<void> LockReleaser::run(std::shared_ptr<txn::ExecutionSlot> slot,
                                      reactor::PooledVector<HeldLock> locks, std::uint64_t generation) {
  txn::BatchSet batches(cluster_);
  fabric::OperationCounters counters;
  const fabric::LocalBuffer words(cluster_.pool(), 8 * locks.size());
  for (std::size_t i = 0; i < locks.size(); ++i) {
    std::byte* const word = words.data() + 8 * i;
    if (locks[i].waiter.value() != 0) {
      batches.compare_and_swap(locks[i].address, locks[i].waiter.value(), locks[i].unlocked.value(), word);
      continue;
    }
    layout::store_word(word, locks[i].unlocked.value());
    batches.write(locks[i].address, word, 8);
  }
  const Status status = co_await batches.run_in_background(counters, Stage::release);
  // Some locks are still there: the slot must die (slot_keeper.cc).
  if (!status.ok()) slot->channel_failed();
  slot->drop_holder();
  registry_.end(generation);
}

reactor::Task<void> LockReleaser::close() {
  co_await gate_.close();
}

}  // namespace namdb::protocol
