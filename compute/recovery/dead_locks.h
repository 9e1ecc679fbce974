// Locks that transactions met and whose owners may be dead. Memory server 0 decides the commits of a dead
// compute server (memory/coordinator/decider.h). Once that is done the slot is closed: the commits that were
// committed are installed, and hold no lock. So a lock under a closed slot is that of a commit that was
// undone, or never wrote a journal entry. Nothing of it was installed, and this undoes the lock by a CAS from
// exactly its value:
//
//   a record          to the header word of the body that stands there
//   a bucket chain    to the same stamp, unlocked
//   a reader word     to 0: its transaction can do nothing any more
//
// A lock is looked into once it was met twice with the same value, some time apart. While its slot is dead
// the lock waits; a slot that is alive has nothing to undo. One task asks for all locks of a slot, and for
// the slots of all other locks that were met.
//
// A slot that is closed stays so. A lock of a slot that is known to be closed is undone when it is met for
// the first time: a compute server that dies has many locks, and costs that time once.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "common/reactor/executor.h"
#include "compute/cluster/cluster.h"
#include "compute/txn/lock_resolver.h"

namespace namdb::txn {

class DeadLocks final : public LockResolver {
 public:
  // `cluster` outlives this.
  explicit DeadLocks(Cluster& cluster) : cluster_(cluster), closing_(cluster.executor()) {}

  void note(layout::GlobalAddress address, layout::HeaderWord word, std::uint32_t body_bytes) override;
  // Waits for tasks in the background; before destruction.
  reactor::Task<void> close();

 private:
  struct Sighting {
    std::uint64_t word = 0;
    std::uint64_t first_ns = 0;
    bool looked_into = false;
  };
  struct Lock {
    layout::GlobalAddress address;
    layout::HeaderWord word;
    std::uint32_t body_bytes = 0;
  };
  reactor::Task<void> look_into(std::uint32_t slot);
  // The slots to ask server 0 for, `slot` first.
  std::vector<std::uint32_t> slots_to_ask_for(std::uint32_t slot) const;
  void remember_closed(std::uint32_t slot);
  // True once the slot is closed, false where it is alive, or the channel has failed.
  reactor::Task<bool> await_closed(std::uint32_t slot);
  reactor::Task<Status> undo(Lock lock);
  reactor::Task<Status> unlock(layout::GlobalAddress address, layout::HeaderWord from, layout::HeaderWord to);

  Cluster& cluster_;
  std::map<std::uint64_t, Sighting> sightings_;         // by address
  std::map<std::uint32_t, std::vector<Lock>> waiting_;  // by slot; each has a task
  std::set<std::uint32_t> closed_;                      // slots, the latest ones
  reactor::Event closing_;
  reactor::Gate gate_;
};

}  // namespace namdb::txn
