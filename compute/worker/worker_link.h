// What lives as long as one connection of a worker. Included by the worker's own files.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "compute/cluster/catalog_cache.h"
#include "compute/commit/engine_transaction.h"
#include "compute/commit/hint_queue.h"
#include "compute/commit/passive_installs.h"
#include "compute/index/verdict_queue.h"
#include "compute/protocol/registry.h"
#include "compute/recovery/orphan_tables.h"
#include "compute/recovery/repair.h"
#include "compute/txn/header_guesses.h"
#include "compute/txn/lock_releaser.h"
#include "compute/txn/priority_clock.h"
#include "compute/txn/record_space.h"
#include "compute/txn/running_transactions.h"
#include "compute/txn/slot_keeper.h"
#include "compute/txn/snapshot_fetcher.h"
#include "compute/txn/transaction_registry.h"
#include "compute/txn/worker_state.h"
#include "compute/worker/worker.h"

namespace namdb::compute {

struct Worker::Link {
  Link(reactor::Executor& executor, fabric::ClientFabric& fabric, storage::LocationCache& locations,
       const WorkerOptions& options, txn::ClusterOptions cluster_options, txn::Backoff& worker_backoff,
       std::uint64_t& damaged_reads, LogLine log)
      : backoff(worker_backoff),
        cluster(executor, fabric, std::move(cluster_options)),
        snapshots(cluster, options.snapshot_mode),
        slots(cluster),
        catalog(cluster),
        space(cluster),
        hints(cluster),
        orphans(cluster),
        repair(cluster, std::move(log)),
        slot_keeper(cluster, options.slot),
        fetcher(cluster, snapshots, registry,
                {.ahead = options.snapshot_sharing == txn::SnapshotSharing::prefetched}),
        verdicts(cluster),
        index_pages(options.index_cache_bytes),
        passive_installs(cluster, registry, slot_keeper, hints),
        lock_releaser(cluster, registry),
        priorities(executor, cluster.timestamps()),
        state{executor,
              cluster,
              snapshots,
              slots,
              locations,
              catalog,
              space,
              hints,
              repair,
              registry,
              slot_keeper,
              options.snapshot_sharing,
              fetcher,
              verdicts,
              options.commit_writes,
              options.index_reads,
              options.read_locks,
              index_pages,
              passive_installs,
              lock_releaser,
              running,
              priorities,
              header_guesses,
              backoff,
              damaged_reads} {
    repair.attach(state);
  }

  txn::Backoff& backoff;
  txn::Cluster cluster;
  txn::SnapshotSource snapshots;
  txn::SlotDirectory slots;
  txn::CatalogCache catalog;
  txn::RecordSpace space;
  txn::HintQueue hints;
  txn::TransactionRegistry registry;
  txn::OrphanTables orphans;
  protocol::Repair repair;
  txn::SlotKeeper slot_keeper;
  txn::SnapshotFetcher fetcher;
  txn::VerdictQueue verdicts;
  storage::IndexCache index_pages;
  txn::PassiveInstalls passive_installs;
  txn::LockReleaser lock_releaser;
  txn::RunningTransactions running;
  txn::PriorityClock priorities;
  txn::HeaderGuesses header_guesses;
  txn::WorkerState state;
  protocol::MakeControl make_control = nullptr;  // of the database's protocol; once connected
  // For heartbeats to the servers that do not have the whole vector; where there are any.
  std::string vector_copy;
  std::uint64_t vector_copied_ns = 0;
  std::set<layout::ServerId> settling;    // servers whose doubts are being looked at
  std::map<layout::ServerId, int> pings;  // on their way: eighths of the timeout that have passed since
  bool versions_wait = false;  // a memory server waits for this worker before it frees old versions
};

struct WorkerSession : protocol::SessionState {
  std::uint64_t epoch = 0;  // of memory server 0
};

// Keeps its connection's pieces alive for as long as somebody holds the transaction.
class ConnectionTransaction : private std::shared_ptr<Worker::Link>, public protocol::EngineTransaction {
 public:
  ConnectionTransaction(const std::shared_ptr<Worker::Link>& link, protocol::SessionState& session)
      : std::shared_ptr<Worker::Link>(link),
        protocol::EngineTransaction(link->state, session, link->make_control),
        began_ns_(link->state.executor.now_ns()) {}
  ~ConnectionTransaction() override { (*this)->backoff.ended((*this)->state.executor.now_ns() - began_ns_); }

 private:
  using Link = std::shared_ptr<Worker::Link>;
  using Link::operator->;
  std::uint64_t began_ns_;
};

}  // namespace namdb::compute
