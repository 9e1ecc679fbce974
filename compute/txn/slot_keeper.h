// The execution slot that a worker's new commits use. A slot near the end of its counters is replaced by a
// fresh lease; the old one is given back when its last commit is published.
#pragma once

#include <memory>

#include "common/reactor/executor.h"
#include "compute/txn/cluster.h"
#include "compute/txn/execution_slot.h"

namespace namdb::txn {

class SlotKeeper {
 public:
  SlotKeeper(Cluster& cluster, SlotOptions options)
      : cluster_(cluster), options_(options), leased_(cluster.executor()) {}

  // A slot with counters left. Suspends only for a new lease. A commit holds its reference to the end.
  reactor::Task<Result<std::shared_ptr<ExecutionSlot>>> acquire();
  // The counter's commit is complete everywhere; it is published soon, and nobody waits for that.
  void finish_later(const std::shared_ptr<ExecutionSlot>& slot, std::uint32_t counter);
  // A channel failed: wakes everyone who waits on a slot.
  void fail();
  // Gives all slots back in order; before destruction, after the last transaction ended.
  reactor::Task<void> close();

 private:
  reactor::Task<void> publish(std::shared_ptr<ExecutionSlot> slot);
  reactor::Task<void> retire(std::shared_ptr<ExecutionSlot> slot);
  Cluster& cluster_;
  SlotOptions options_;
  std::shared_ptr<ExecutionSlot> slot_;
  bool leasing_ = false;
  int retiring_ = 0;
  reactor::Event leased_;
  reactor::Gate gate_;
};

}  // namespace namdb::txn
