// The execution slots that a worker's new commits use: one slot that all of them share, or several, so that
// each concurrent commit has a slot of its own while there are enough. One slot is NAM-DB's "compression"
// (§4.2): the vector is short and one WRITE publishes many commits, but each commit waits for the older ones.
// A slot near the end of its counters is replaced by a fresh lease; the old one is given back when its last
// commit is published.
#pragma once

#include <memory>
#include <vector>

#include "common/reactor/executor.h"
#include "compute/cluster/cluster.h"
#include "compute/txn/execution_slot.h"

namespace namdb::txn {

class SlotKeeper {
 public:
  SlotKeeper(Cluster& cluster, SlotOptions options)
      : cluster_(cluster), options_(options), wanted_(options.slots), changed_(cluster.executor()) {}

  // A slot with counters left: an idle one, or a new lease while there may be more, or the one with the
  // fewest open commits. Suspends only for a lease. A commit holds its reference to the end. If the memory
  // server leases no more slots, the present ones have to do. Error serialization_failure if all of these
  // were lost with a channel: the next attempt runs over the next connection.
  reactor::Task<Result<std::shared_ptr<ExecutionSlot>>> acquire();
  // The same; null where it would suspend.
  std::shared_ptr<ExecutionSlot> acquire_now();
  // A fresh lease, apart from those that commits use: nothing commits in it. Until the connection ends.
  reactor::Task<Result<std::shared_ptr<const ExecutionSlot>>> lease_apart();
  // The counter's commit is complete everywhere; it is published soon, in the background.
  void finish_later(const std::shared_ptr<ExecutionSlot>& slot, std::uint32_t counter);
  // Tells the hosts of all journals what is finished, where they do not know.
  void tell_finished();
  // All slots end soon.
  bool closing() const { return gate_.closing(); }
  // The connection is over: wakes all that wait on a slot, or for one.
  void fail();
  // Gives all slots back cleanly; before destruction, after the last transaction ended.
  reactor::Task<void> close();

 private:
  reactor::Task<void> publish(std::shared_ptr<ExecutionSlot> slot);
  reactor::Task<void> retire(std::shared_ptr<ExecutionSlot> slot);
  // Slots that new commits must not use any more leave slots_.
  void retire_exhausted();
  // The one with the fewest open commits; null if there is none.
  std::shared_ptr<ExecutionSlot> least_busy() const;
  reactor::Task<Status> lease();

  Cluster& cluster_;
  SlotOptions options_;
  std::size_t wanted_;  // slots; fewer than the option says once a lease was refused
  std::vector<std::shared_ptr<ExecutionSlot>> slots_;
  bool leasing_ = false;
  std::vector<std::shared_ptr<ExecutionSlot>> retiring_;
  // The slots that have lost a counter. They die with the connection.
  std::vector<std::shared_ptr<ExecutionSlot>> lost_;
  std::vector<std::shared_ptr<ExecutionSlot>> apart_;
  reactor::Event changed_;  // of what there is, leased or retiring
  reactor::Gate gate_;
};

}  // namespace namdb::txn
