// A connection of a worker to the cluster: everything that lives as long as it, and the transactions over it.
// Belongs to the worker's executor.
#pragma once

#include <memory>

#include "compute/cluster/catalog_cache.h"
#include "compute/cluster/primary_leases.h"
#include "compute/commit/engine_transaction.h"
#include "compute/protocol/registry.h"
#include "compute/recovery/dead_locks.h"
#include "compute/recovery/orphan_tables.h"
#include "compute/schema/indexes.h"
#include "compute/schema/roles.h"
#include "compute/schema/routines.h"
#include "compute/schema/schema_worker.h"
#include "compute/schema/table_replacements.h"
#include "compute/schema/tables.h"
#include "compute/txn/backoff.h"
#include "compute/txn/calls_ahead.h"
#include "compute/txn/commit_outcomes.h"
#include "compute/txn/hint_queue.h"
#include "compute/txn/passive_installs.h"
#include "compute/txn/record_space.h"
#include "compute/txn/running_transactions.h"
#include "compute/txn/session_state.h"
#include "compute/txn/slot_keeper.h"
#include "compute/txn/snapshot_fetcher.h"
#include "compute/txn/transaction_registry.h"
#include "compute/txn/verdict_queue.h"
#include "compute/txn/worker_state.h"
#include "compute/worker/worker_parts.h"

namespace namdb::compute {

// Held by shared pointers only: a transaction keeps its connection alive, and so does every task that awaits
// a function of one of its parts.
struct Connection final : schema::SchemaWorker, std::enable_shared_from_this<Connection> {
  Connection(const WorkerParts& worker_parts, txn::ClusterOptions cluster_options);

  // Connects to all memory servers and makes the database's protocol. After an error disconnect() is still to
  // be called.
  reactor::Task<Status> connect();
  // Waits for installs and releases that are under way, without new transactions.
  reactor::Task<void> settle();
  // Ends what runs in the background. `cleanly`: also returns the slot and the memory that was reserved.
  // Before destruction.
  reactor::Task<void> disconnect(bool cleanly);

  txn::WorkerState& worker_state() override { return state; }
  std::unique_ptr<protocol::EngineTransaction> begin(protocol::SessionState& session) override;
  reactor::Task<void> back_off(std::uint32_t attempt) override;
  void hasten() override { parts.wake_ups.hasten(); }
  bool stopping() const override { return parts.wake_ups.stopping(); }

  WorkerParts parts;
  txn::CallsAhead calls_ahead;  // ends behind the cluster
  txn::Cluster cluster;
  txn::PrimaryLeases leases;
  txn::SnapshotSource snapshots;
  txn::SlotDirectory slots;
  txn::CatalogCache catalog;
  txn::RecordSpace space;
  txn::HintQueue hints;
  txn::TransactionRegistry registry;
  txn::OrphanTables orphans;
  txn::DeadLocks dead_locks;
  txn::SlotKeeper slot_keeper;
  txn::SnapshotFetcher fetcher;
  txn::VerdictQueue verdicts;
  storage::IndexCache index_pages;
  txn::PassiveInstalls passive_installs;
  txn::RunningTransactions running;
  txn::WorkerState state;
  schema::Tables tables;
  schema::Indexes indexes;
  schema::TableReplacements replacements;
  schema::Routines routines;
  schema::RoleChanges role_changes;
  std::unique_ptr<protocol::WorkerProtocol> worker_protocol;  // the database's; once connected
  // The worker has another connection, too (earlier_connections.h): its sessions may hand over tables as that
  // one knows them.
  bool is_one_of_several = false;
};

// Waits before attempt `attempt` (1 = first retry) of a transaction. `backoff` outlives the task.
reactor::Task<void> back_off(reactor::Executor& executor, txn::Backoff& backoff, std::uint32_t attempt);

}  // namespace namdb::compute
