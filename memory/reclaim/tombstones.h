// When a deleted record is reclaimed (the second duty of the collector), and how.
//
// A tombstone waits until its own commit is published, then ages like an old version (old_versions.h): after
// that every transaction sees the row as deleted. If the record is still that tombstone, reclaim, under the
// lock word of its bucket chain:
//   1. lock the chain, then the record, both by CAS through the loopback channel, as ⟨kCollectorSlot, fresh
//      counter⟩; give up when either has changed or is held
//      where versions have timestamps, raise the forgotten timestamp to the row's
//   2. change the record's incarnation: a cached address does not match any more
//   3. take the record's entry out of its bucket
//   4. unlock the chain. The record stays locked for ever: no stale value can be CASed into it
//   5. give the record to the EpochReclaimer
// Nothing is left to repair when the server dies in between: the region dies with it. A lock that is in the
// way may be that of a dead commit without a journal entry, which a worker that meets it undoes: so
// heartbeats' replies name it.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <set>

#include "common/fabric/fabric.h"
#include "common/layout/bucket.h"
#include "common/layout/stamp.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/options.h"
#include "memory/peers/peers.h"
#include "memory/reclaim/epoch_reclaimer.h"
#include "memory/reclaim/old_versions.h"
#include "memory/reclaim/server_locks.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"
#include "memory/region/visibility.h"
#include "proto/control.pb.h"

namespace namdb::memory {

class Tombstones {
 public:
  Tombstones(reactor::Executor& executor, Region& region, const Options& options, Tables& tables,
             ServerLocks& locks, const Visibility& visibility, VersionEpoch& epoch, EpochReclaimer& reclaimer)
      : executor_(executor),
        region_(region),
        options_(options),
        tables_(tables),
        locks_(locks),
        visibility_(visibility),
        epoch_(epoch),
        reclaimer_(reclaimer) {}

  // `record` may be any offset: one that is not a deleted record is forgotten later.
  void note(std::uint32_t table, std::uint64_t record) { noted_.push_back({table, 0, record, {}}); }
  // Notes every tombstone that it finds in the tables: for hints that never came.
  reactor::Task<void> scan();
  reactor::Task<void> tick(fabric::Channel& loopback, const Peers& peers);

  bool empty() const { return noted_.empty() && aging_.empty(); }
  std::uint64_t reclaimed() const { return reclaimed_; }
  // Names locks that were met and are still held in a heartbeat's reply: their owners may be dead, and no
  // other worker may ever come there. Up to `limit` in all of the reply.
  void describe(control::HeartbeatReply& reply, int limit) const;
  // Not reclaimed yet; some of them may not be deleted records.
  std::uint64_t pending() const;

 private:
  struct Tombstone {
    std::uint32_t table;
    std::uint32_t attempts;  // looks at it that found no certified body
    std::uint64_t record;
    layout::Stamp stamp;
  };
  struct Aging {
    std::uint64_t seen_ns;
    std::uint64_t epoch;
    std::deque<Tombstone> tombstones;
  };
  struct Held {
    std::uint32_t table;
    std::uint64_t offset;  // of a bucket chain's lock word, or of a record
    bool chain;
    friend auto operator<=>(const Held&, const Held&) = default;
  };
  enum class Look { tombstone, later, unstable, other };
  Look look(const Tombstone& tombstone, layout::Stamp& stamp);
  // The lock is still held, perhaps by another holder.
  bool still(const Held& held) const;
  // False: not now, try again.
  reactor::Task<bool> reclaim(Tombstone tombstone, fabric::Channel& loopback);
  // The forgotten timestamp of this server is at least that.
  reactor::Task<void> raise_forgotten(fabric::Channel& loopback, std::uint64_t timestamp);
  // The bucket of the chain whose entry leads to the record, 0 if there is none.
  std::uint64_t find_entry(const Table& table, std::uint64_t main_bucket, std::uint64_t record,
                           layout::Bucket& bucket) const;

  reactor::Executor& executor_;
  Region& region_;
  const Options& options_;
  Tables& tables_;
  ServerLocks& locks_;
  const Visibility& visibility_;
  VersionEpoch& epoch_;
  EpochReclaimer& reclaimer_;
  std::deque<Tombstone> noted_;
  std::deque<Aging> aging_;
  std::set<Held> held_;  // locks that were met
  std::uint64_t reclaimed_ = 0;
};

}  // namespace namdb::memory
