// What the transactions of one worker share: the pieces that the worker's composition (compute/worker) owns.
#pragma once

#include <cstdint>

#include "common/reactor/executor.h"
#include "compute/storage/location_cache.h"
#include "compute/txn/cluster.h"
#include "compute/txn/snapshot.h"

namespace namdb::txn {

class CatalogCache;
class HintQueue;
class LockResolver;
class RecordSpace;
class SlotKeeper;
class SnapshotFetcher;
class TransactionRegistry;
class VerdictQueue;

// How transactions come by their snapshots (snapshot_fetcher.h says what each promises).
enum class SnapshotSharing : std::uint8_t { own, shared, prefetched };

// What a commit writes of rows and buckets that it changes, to their places, the journal and the version
// ring: the `changed` words, or the `whole` each time, as NAM-DB does (§5.1).
enum class CommitWrites : std::uint8_t { changed, whole };

struct WorkerState {
  reactor::Executor& executor;
  Cluster& cluster;
  SnapshotSource& snapshots;
  SlotDirectory& slots;
  storage::LocationCache& locations;
  CatalogCache& catalog;
  RecordSpace& space;
  HintQueue& hints;
  LockResolver& locks;
  TransactionRegistry& registry;
  SlotKeeper& slot_keeper;
  SnapshotSharing sharing;
  SnapshotFetcher& fetcher;
  VerdictQueue& verdicts;
  CommitWrites commit_writes;
};

}  // namespace namdb::txn
