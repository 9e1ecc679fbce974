// Installs of commits that were answered once they were logged (passive acknowledgement, DrTM+H §3.2): the
// WRITEs are posted, and their completion is noticed later, when no transaction waits for it. From the log on
// a commit cannot be undone: a transaction that meets its locks waits for it, and if this compute server
// dies, memory servers install it from their journals. Operations that this worker posts afterwards to the
// same memory server see the install.
//
// A commit that was answered before its entries are on disk (compute/txn/deferred_commits.h) is installed
// here, too: as soon as they are. So nothing that is posted before that sees it.
//
// A generation of the registry ends, and a counter is finished, only when its install has completed. Only
// then the places of new records go into the location cache. Operations that are posted meanwhile are not
// ordered behind an install by call, and those of other workers, which share that cache, are ordered behind
// no install. They would find a record whose body is there while the WRITE of its other words is still to
// land. That WRITE would then overwrite a lease, a waiter word or a reader word that they set, and a reader's
// lock would be lost.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "common/calls/index_calls.h"
#include "common/layout/bucket.h"
#include "common/layout/global_address.h"
#include "common/reactor/executor.h"
#include "common/reactor/pooled_allocator.h"
#include "compute/cluster/batch_set.h"
#include "compute/cluster/cluster.h"
#include "compute/cluster/location_cache.h"
#include "compute/txn/deferred_commits.h"
#include "compute/txn/execution_slot.h"
#include "compute/txn/hint_queue.h"
#include "compute/txn/slot_keeper.h"
#include "compute/txn/transaction_registry.h"
#include "compute/txn/verdict_queue.h"

namespace namdb::txn {

// Facts about a commit that other transactions may use once it is installed; verdicts only if the commit is
// deferred.
struct KnownOnceInstalled {
  struct Verdict {
    layout::ServerId server = 0;
    calls::IndexVerdict verdict;  // its key is the one below
    std::string key;
  };
  std::vector<Verdict> verdicts;
  std::vector<layout::BucketEntry> locations;
};

struct PassiveInstall {
  static void* operator new(std::size_t bytes) { return reactor::allocate_frame(bytes); }
  static void operator delete(void* place, std::size_t bytes) { reactor::free_frame(place, bytes); }

  BatchSet batches;  // WRITEs only; their sources are copied
  std::shared_ptr<ExecutionSlot> slot;
  std::uint32_t counter = 0;
  std::uint32_t piggybacked = 0;  // they publish up to that counter; 0: they do not
  std::uint64_t generation = 0;
  reactor::PooledVector<std::pair<std::uint32_t, layout::GlobalAddress>> deleted;  // tables, records
  // The commit whose entries are not durable yet up to these ends; null: they are.
  std::shared_ptr<DeferredCommit> deferred;
  reactor::PooledVector<JournalEnd> entries;
  KnownOnceInstalled known;
};

class PassiveInstalls {
 public:
  // All outlive this.
  PassiveInstalls(Cluster& cluster, TransactionRegistry& registry, SlotKeeper& slots, HintQueue& hints,
                  VerdictQueue& verdicts, storage::LocationCache& locations)
      : cluster_(cluster),
        registry_(registry),
        slots_(slots),
        hints_(hints),
        verdicts_(verdicts),
        locations_(locations) {}

  // Whether an install that writes so many bytes may be given to begin().
  bool takes(std::size_t written_bytes) const { return written_bytes <= kMost_bytes && !gate_.closing(); }
  // Posts it, unless the database installs by calls, which are posted a moment later, or the commit is
  // deferred. Takes over the generation, and the counter (ExecutionSlot::begin_commit). Counts into
  // `counters`, calls of earlier ones too; no round trips.
  void begin(PassiveInstall install, fabric::OperationCounters& counters);
  // Waits for what is under way; before destruction, and before the slots are given back.
  reactor::Task<void> close();

 private:
  static constexpr std::size_t kMost_bytes = 16U << 10;  // more is not worth its copy
  reactor::Task<void> run(std::unique_ptr<PassiveInstall> install);
  reactor::Task<void> run_deferred(std::unique_ptr<PassiveInstall> install);
  reactor::Task<Status> install_deferred(PassiveInstall* install);
  void end(PassiveInstall& install);
  void remember_locations(const PassiveInstall& install);
  Cluster& cluster_;
  TransactionRegistry& registry_;
  SlotKeeper& slots_;
  HintQueue& hints_;
  VerdictQueue& verdicts_;
  storage::LocationCache& locations_;
  fabric::OperationCounters unclaimed_;  // calls that are not counted yet
  reactor::Gate gate_;
};

}  // namespace namdb::txn
