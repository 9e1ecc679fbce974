// Locks by name, of sessions of all compute servers: advisory locks, and rows that a session has claimed
// where the protocol itself locks rows at commit only.
//
// The locks that are held stand in rows, with the sessions that hold them (lock_rows.h). Transactions of
// their own change them, so each protocol keeps two sessions from holding what only one may. A session is a
// number that it has drawn, and an execution slot that its worker leases for this alone (SlotLease). Once the
// slot has ended, as it does when its compute server dies or loses its memory servers, its locks count no
// more, and the next session that wants one takes it over.
//
// One for each worker; belongs to the executor's thread.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/locks/lock_name.h"

namespace namdb::txn {

struct WantedLock {
  LockName name;
  LockMode mode = LockMode::exclusive;
  bool taken = false;  // the outcome
};

class NamedLocks {
 public:
  // A session's number in the rows of its locks.
  using Holder = std::int64_t;
  // How a session has a lock once it has given the rest back.
  struct Release {
    LockName name;
    LockMode kept = LockMode::none;  // or shared
  };
  // A session's locks that are being given back.
  struct Releases {
    explicit Releases(reactor::Executor& executor) : changed(executor) {}
    std::size_t under_way = 0;
    reactor::Event changed;
  };

  // The engine outlives this.
  explicit NamedLocks(Engine& engine) : engine_(engine), changed_(engine.executor()) {}

  Engine& engine() { return engine_; }
  Holder draw_holder();
  // The lease under which this worker's sessions take locks now.
  reactor::Task<Result<std::shared_ptr<const SlotLease>>> lease();
  // Takes, in one transaction, the locks that are free or whose holders have ended; `taken` stays false for
  // the others. A lock that the holder alone shares may become exclusive; an exclusive lock does not become
  // shared in this way. A lock that LockRows::kMostShares sessions share is not free, either. `lease` is the
  // holder's.
  reactor::Task<Status> try_take(std::vector<WantedLock>* wanted, const SlotLease* lease, Holder holder);
  // Gives locks back, in the background, until that is done or their lease has ended.
  void release(std::vector<Release> given, std::shared_ptr<const SlotLease> lease, Holder holder,
               std::shared_ptr<Releases> releases);
  // Returns when a session of this worker has given a lock back, or at that time.
  reactor::Task<void> wait_for_change(std::uint64_t until_ns);
  // Waits for what goes on in the background. Before destruction.
  reactor::Task<void> close();

 private:
  reactor::Task<Status> take_once(std::vector<WantedLock>* wanted, std::uint32_t slot, Holder holder,
                                  std::vector<std::uint32_t>* unknown);
  reactor::Task<Status> release_once(const std::vector<Release>* given, std::uint32_t slot, Holder holder);
  reactor::Task<void> release_all(std::vector<Release> given, std::shared_ptr<const SlotLease> lease,
                                  Holder holder, std::shared_ptr<Releases> releases);
  // Whether that is known of another worker's slot.
  bool is_known_to_have_ended(std::uint32_t slot) const;
  // Whether the slot has ended, as it was known a short time ago.
  reactor::Task<Result<bool>> has_ended(std::uint32_t slot);

  struct KnownSlot {
    bool ended = false;
    std::uint64_t asked_ns = 0;
  };
  Engine& engine_;
  std::shared_ptr<const SlotLease> lease_;  // the last one
  bool leasing_ = false;
  absl::flat_hash_map<std::uint32_t, KnownSlot> slots_;  // of others
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::txn
