// Snapshots that a worker's transactions share: one coroutine takes them, one after another, for all (the
// dedicated fetch thread of NAM-DB §4.2, one a worker since workers share nothing). Two ways to use them:
//
//   shared      a transaction waits for a copy whose first READ was posted after the transaction asked. The
//               copy shows all commits that were acknowledged before that, like a copy of its own;
//               transactions that ask while one is under way get the next one together.
//   prefetched  a transaction takes the newest copy that is there, without any round trip, if it shows all
//               that the session itself has seen and done. Commits of the last kMaxPrefetchedAge_ns that were
//               acknowledged to other sessions may be missing: snapshot isolation with session guarantees,
//               without real-time order.
//
// A copy is registered like a transaction from before its first READ was posted until no transaction uses it
// any more, so that no version that it shows is collected. While no transaction asks, nothing is fetched and
// no copy is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/fabric/counters.h"
#include "common/reactor/executor.h"
#include "compute/txn/snapshot.h"
#include "compute/txn/transaction_registry.h"
#include "compute/txn/worker_state.h"

namespace namdb::txn {

inline constexpr std::uint64_t kMaxPrefetchedAge_ns = 5 * kMillisecond_ns;

// By the names of the options: own, shared, prefetched. Unknown ones are own.
inline SnapshotSharing snapshot_sharing_of(std::string_view name) {
  if (name == "shared") return SnapshotSharing::shared;
  return name == "prefetched" ? SnapshotSharing::prefetched : SnapshotSharing::own;
}

// Confirmed when others get it; never changes then.
class SharedSnapshot {
 public:
  explicit SharedSnapshot(TransactionRegistry& registry)
      : registry_(registry), generation_(registry.begin()) {}
  SharedSnapshot(const SharedSnapshot&) = delete;
  SharedSnapshot& operator=(const SharedSnapshot&) = delete;
  ~SharedSnapshot() { registry_.end(generation_); }

  Snapshot snapshot;

 private:
  TransactionRegistry& registry_;
  std::uint64_t generation_;
};

class SnapshotFetcher {
 public:
  struct Options {
    // Takes copies also while no transaction waits for one, as long as they are used.
    bool ahead = false;
    // How long after a copy the next is taken ahead; one that a transaction waits for is taken at once.
    std::uint64_t interval_ns = 50 * kMicrosecond_ns;
  };
  SnapshotFetcher(Cluster& cluster, SnapshotSource& source, TransactionRegistry& registry, Options options)
      : cluster_(cluster),
        source_(source),
        registry_(registry),
        options_(options),
        fetched_(cluster.executor()),
        asked_(cluster.executor()) {}

  // The newest copy whose first READ was posted at that time or later, waiting for it if need be. Its cost is
  // counted once, to one of the transactions that asked; a wait is a round trip of each that waited.
  reactor::Task<Result<std::shared_ptr<const SharedSnapshot>>> get(std::uint64_t not_before_ns,
                                                                   fabric::OperationCounters& counters);
  // No get() is under way any more, or all channels have failed. Before destruction.
  reactor::Task<void> close();

 private:
  reactor::Task<void> run();
  reactor::Task<Status> fetch(Snapshot& snapshot);

  Cluster& cluster_;
  SnapshotSource& source_;
  TransactionRegistry& registry_;
  Options options_;
  std::shared_ptr<const SharedSnapshot> newest_;
  std::uint64_t wanted_ns_ = 0;  // the latest time that a transaction waits for
  bool used_ = false;            // since the newest copy was posted
  bool running_ = false;
  bool closing_ = false;
  Status last_;     // of the last attempt
  Status failure_;  // for good
  fabric::OperationCounters unclaimed_;
  reactor::Event fetched_;
  reactor::Event asked_;
  reactor::Gate gate_;
};

}  // namespace namdb::txn
