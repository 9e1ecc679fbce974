// The objects that the transactions of one worker share; the worker's composition (compute/worker) owns them.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/reactor/executor.h"
#include "compute/cluster/cluster.h"
#include "compute/cluster/index_cache.h"
#include "compute/cluster/location_cache.h"
#include "compute/txn/snapshot.h"

namespace namdb::txn {

class Backoff;
class CallsAhead;
class CatalogCache;
class CommitOutcomes;
class HintQueue;
class RunningTransactions;
class LockResolver;
class PassiveInstalls;
class PrimaryLeases;
class RecordSpace;
class SlotKeeper;
class SnapshotFetcher;
class TransactionRegistry;
class VerdictQueue;

// How transactions come by their snapshots (snapshot_fetcher.h says what each promises).
enum class SnapshotSharing : std::uint8_t { own, shared, prefetched };

// Which bytes of changed rows and buckets a commit writes, to their places, the journal and the version ring:
// the `changed` words, or the `whole` each time, as NAM-DB does (§5.1).
enum class CommitWrites : std::uint8_t { changed, whole };

// How entries of indexes are looked for: with `calls`, or in `leaves` that are READ where the pages above
// them are cached, and with calls elsewhere (the hybrid of DrTM+H §5.1).
enum class IndexReads : std::uint8_t { calls, leaves };
// By the names of the options: leaves, calls, or auto. auto is the cheaper way over that fabric: calls over
// tcp, where the memory server's thread serves both and a leaf has more bytes than an answer.
inline IndexReads index_reads_of(std::string_view name, std::string_view fabric) {
  if (name == "leaves") return IndexReads::leaves;
  return name == "calls" || fabric == "tcp" ? IndexReads::calls : IndexReads::leaves;
}

// How whole tables are read under a protocol whose commits become visible only once they are installed: with
// `calls` to the memory servers, which walk over the places of their records (table_read.h), or by READs of
// the `buckets` and of the records that they name (bucket_scan.h).
enum class ScanReads : std::uint8_t { calls, buckets };
// By the names of the options: buckets, calls, or auto, which is calls.
inline ScanReads scan_reads_of(std::string_view name) {
  return name == "buckets" ? ScanReads::buckets : ScanReads::calls;
}

// Under protocols that lock rows as they are read by key: the locks of rows that are only to be read
// (Transaction::read). `none`: they are validated at commit. `exclusive`: as those that may be written.
// `shared`: no other transaction writes them; for databases whose records have reader words. `automatic`:
// shared there, else none. Compute servers of one database may differ: all of them look at the reader words
// of what they write.
enum class ReadLocks : std::uint8_t { automatic, none, exclusive, shared };
// By the names of the options.
inline ReadLocks read_locks_of(std::string_view name) {
  if (name == "none") return ReadLocks::none;
  if (name == "exclusive") return ReadLocks::exclusive;
  return name == "shared" ? ReadLocks::shared : ReadLocks::automatic;
}

struct WorkerState {
  reactor::Executor& executor;
  Cluster& cluster;
  PrimaryLeases& leases;
  SnapshotSource& snapshots;
  SlotDirectory& slots;
  storage::LocationCache& locations;
  CatalogCache& catalog;
  RecordSpace& space;
  HintQueue& hints;
  LockResolver& locks;
  CommitOutcomes& outcomes;
  TransactionRegistry& registry;
  SlotKeeper& slot_keeper;
  SnapshotSharing sharing;
  SnapshotFetcher& fetcher;
  VerdictQueue& verdicts;
  CommitWrites commit_writes;
  IndexReads index_reads;
  ScanReads scan_reads;
  ReadLocks read_locks;
  storage::IndexCache& index_pages;
  PassiveInstalls& passive_installs;
  CallsAhead& calls_ahead;
  RunningTransactions& running;
  std::uint64_t epoch_ns;  // where transactions are ordered before they run
  const Backoff& backoff;
  std::uint64_t& damaged_reads;  // transactions that ended because of damaged bytes in a region
};

}  // namespace namdb::txn
