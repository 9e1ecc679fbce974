// Locks by name, of sessions of all compute servers: advisory locks, and rows that a session has claimed
// where the protocol itself locks rows at commit only.
//
// A lock that is held is a row of the table kTable: its name, and the session that holds it. It is inserted
// and deleted by transactions of their own, so each protocol keeps two sessions from holding one. A session
// is a number that it has drawn, and an execution slot that its worker leases for this alone (SlotLease).
// Once the slot has ended, as it does when its compute server dies or loses its memory servers, the row
// counts no more, and the next session that wants the lock takes it over.
//
//   space   key                           lock
//   0       the number                    pg_advisory_lock(bigint)
//   1       both numbers                  pg_advisory_lock(int, int)
//   2 + t   the hash of the row's key     a row of the table with id t: two rows may share a lock
//
// One for each worker; belongs to the executor's thread.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/error.h"
#include "common/layout/schema.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/server_table.h"
#include "compute/api/table.h"

namespace namdb::txn {

struct LockName {
  std::int64_t space = 0;
  std::int64_t key = 0;
  friend auto operator<=>(const LockName&, const LockName&) = default;
};

inline LockName row_lock_name(const storage::Table& table, std::span<const std::byte> key) {
  constexpr std::int64_t kFirstTable = 2;
  return {kFirstTable + table.id, static_cast<std::int64_t>(table.hash_of(key))};
}

struct WantedLock {
  LockName name;
  bool taken = false;  // the outcome
};

class NamedLocks {
 public:
  static constexpr const char* kTable = kLocksTable;
  // A session's number in the rows of its locks.
  using Holder = std::int64_t;
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
  // Takes those that are free, or whose holders have ended, in one transaction; of the others `taken` stays
  // false. `lease` is the holder's.
  reactor::Task<Status> try_take(std::vector<WantedLock>* wanted, const SlotLease* lease, Holder holder);
  // Gives locks back, in the background, until that is done or their lease has ended.
  void release(std::vector<LockName> names, std::shared_ptr<const SlotLease> lease, Holder holder,
               std::shared_ptr<Releases> releases);
  // Returns when a session of this worker has given a lock back, or at that time.
  reactor::Task<void> wait_for_change(std::uint64_t until_ns);
  // Waits for what goes on in the background. Before destruction.
  reactor::Task<void> close();

 private:
  reactor::Task<Status> take_once(std::vector<WantedLock>* wanted, std::uint32_t slot, Holder holder,
                                  std::vector<std::uint32_t>* unknown);
  reactor::Task<Status> erase_once(const std::vector<LockName>* names, std::uint32_t slot, Holder holder);
  reactor::Task<void> release_all(std::vector<LockName> names, std::shared_ptr<const SlotLease> lease,
                                  Holder holder, std::shared_ptr<Releases> releases);
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
