// The engine of one worker runs a session's transactions and schema changes. One Engine a worker thread,
// shared by all its sessions; implemented over the fabric by compute/worker.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/facts.h"
#include "common/layout/global_address.h"
#include "common/layout/schema.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "compute/api/role.h"
#include "compute/api/routine.h"
#include "compute/api/table.h"
#include "compute/api/transaction.h"

namespace namdb::txn {

// UNIQUE (columns): an index that comes and goes with its table.
struct UniqueConstraint {
  std::string name;
  std::vector<std::uint32_t> columns;  // positions in the table
};

struct TableDefinition {
  std::string name;
  layout::Schema schema;
  // The number of rows that the table will probably have; it grows beyond by itself. The default takes little
  // memory.
  std::uint64_t size_hint_rows = 512;
  std::uint32_t ring_slots = 0;  // 0: the cluster's default
  std::vector<UniqueConstraint> unique;
  // The name of an index of the primary key's columns, which comes and goes with the table; empty: the key is
  // in no order.
  std::string ordered_key;
  std::vector<storage::TableCheck> checks;
  std::uint32_t owner = storage::kNoRole;  // one that replaces another keeps that one's
  std::vector<storage::ForeignKey> foreign_keys;
};

struct Violation;

struct IndexDefinition {
  std::string name;
  std::string table;
  std::vector<layout::IndexColumn> columns;
  bool unique = false;
  bool hash = false;        // then no column is descending
  bool constraint = false;  // UNIQUE: it belongs to the table's definition
  // Outlives the building; null: not wanted. With duplicate_key it receives one of the rows, if it is known.
  Violation* violation = nullptr;
};

struct TableAlteration;
struct TableReplacement;

// Where tables lie.
struct Placement {
  std::uint32_t memory_servers = 1;
  // The memory server that this compute server stands beside, if its operator said so. Nothing here depends
  // on it: clients ask, and send their calls where the data is.
  std::optional<layout::ServerId> beside;
};

struct RetryOptions {
  std::uint32_t max_attempts = 64;  // hostile: 1
  std::uint64_t first_backoff_ns = 10'000;
  std::uint64_t max_backoff_ns = 10'000'000;
};

// The state that a client's session carries from transaction to transaction, so that it reads its own writes
// and never goes back in time. Made by Engine::open_session; destroyed before the engine.
class Session {
 public:
  virtual ~Session() = default;
};

// An execution slot in which nothing commits: a worker leases it for objects that its sessions hold, such as
// named locks. Other workers ask whether the slot has ended (Engine::slot_ended), and so whether the holder
// is alive.
class SlotLease {
 public:
  virtual ~SlotLease() = default;
  virtual std::uint32_t slot() const = 0;
  // The worker has lost it, or gives it back soon.
  virtual bool ended() const = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual reactor::Executor& executor() = 0;
  // Whether its transactions are serializable; otherwise they have snapshot isolation. As of the last
  // connection to the memory servers.
  virtual bool serializable() const { return false; }
  // Whether commits are on disk before they are visible. Likewise.
  virtual bool flushed() const { return false; }
  virtual std::unique_ptr<Session> open_session() = 0;
  // Neither suspends nor posts anything; the snapshot is taken by the first fetch or scan. The transaction
  // is destroyed before its session.
  virtual std::unique_ptr<Transaction> begin(Session& session) = 0;

  // From the cached catalog, refreshed from the memory server when the name is unknown. undefined_table.
  virtual reactor::Task<Result<storage::TableRef>> table(std::string name) = 0;
  // The cached entry or null; no round trip.
  virtual storage::TableRef cached_table(std::string_view name) = 0;
  // A number that changes whenever a cached catalog entry may have changed: cached plans compare it.
  virtual std::uint64_t catalog_version() const = 0;
  virtual reactor::Task<Result<std::vector<storage::TableRef>>> tables() = 0;
  // All that are cached; no round trip. And whether one of them has a foreign key.
  virtual std::vector<storage::TableRef> cached_tables() const { return {}; }
  virtual bool has_foreign_keys() const { return false; }
  // Waits until all transactions that may not know the current catalog have ended. The caller's own session
  // must not have one. Error transaction_timeout.
  virtual reactor::Task<Status> settle_catalog() { co_return Status(); }
  // Errors duplicate_table (also a constraint's name), out_of_memory. The table is visible to every session
  // when this returns, and never without its constraints.
  virtual reactor::Task<Status> create_table(TableDefinition definition) = 0;
  // undefined_table; dependent_objects_still_exist: another table references it. Transactions that still use
  // the table end in catalog_changed.
  virtual reactor::Task<Status> drop_table(std::string name) = 0;
  // Errors undefined_table, duplicate_table; table_is_altered: the table was altered meanwhile, or is being
  // altered.
  virtual reactor::Task<Status> alter_table(TableAlteration alteration) = 0;
  // Waits for the transactions that run now, so the caller's own session must not have one. Then copies the
  // rows. Meanwhile other transactions read the table; commits that change it end in table_is_altered. Errors
  // as of alter_table(), those of the rows' change, duplicate_key, out_of_memory; the table is then as it
  // was.
  virtual reactor::Task<Status> replace_table(TableReplacement replacement) = 0;
  // Builds the index while others use the table; returns when it is ready, for transactions that begin then.
  // Errors duplicate_table, undefined_table, duplicate_key (unique), out_of_memory; nothing is left behind.
  virtual reactor::Task<Status> create_index(IndexDefinition definition) = 0;
  // Builds the index anew, in parts as its table is now, while others use it, and puts the new one in its
  // place. Errors undefined_object, feature_not_supported (a hash index), portal_not_ready while another
  // session does the same, and those of create_index(); the index is then as it was.
  virtual reactor::Task<Status> rebuild_index(std::string name) = 0;
  // undefined_object; feature_not_supported when it is a constraint's, unless that is a UNIQUE `constraint`.
  virtual reactor::Task<Status> drop_index(std::string name, bool constraint) = 0;

  // From the cached catalog, refreshed from the memory server when the name is unknown; null: there is none.
  virtual reactor::Task<Result<storage::RoutineRef>> routine(std::string name) = 0;
  // The cached entry or null; no round trip.
  virtual storage::RoutineRef cached_routine(std::string_view name) = 0;
  // Read anew from the catalog, in the order of their names.
  virtual reactor::Task<Result<std::vector<storage::RoutineRef>>> routines() = 0;
  // Known to every session of this worker when it returns, to all others with the next catalog that they
  // read. Errors duplicate_function: there is one of that name, or another version than the one to be
  // replaced; undefined_function: the one to be replaced is gone; limit_exceeded.
  virtual reactor::Task<Status> create_routine(RoutineDefinition definition) = 0;
  // undefined_function: there is none of that name and version.
  virtual reactor::Task<Status> drop_routine(std::string name, std::uint64_t version) = 0;

  // As of the cached catalog, never null; no round trip. Changes whenever catalog_version() does, at most.
  virtual storage::RolesRef cached_roles() const = 0;
  // From a catalog that was read now.
  virtual reactor::Task<Result<storage::RolesRef>> roles() = 0;
  // Known to every session of this worker when it returns, to all others with the next catalog that they
  // read. Errors catalog_changed: the roles are of another version, and the change is to be made from that
  // one; duplicate_object, invalid_name, limit_exceeded.
  virtual reactor::Task<Status> change_roles(RoleChange change) = 0;

  // Before attempt `attempt` (1 = first retry) of a transaction: jittered, capped backoff.
  virtual reactor::Task<void> backoff(std::uint32_t attempt) = 0;
  virtual const RetryOptions& retry_options() const = 0;

  // commit_slot(): an execution slot of this worker in which commits that begin now may run. slot_ended():
  // whether a slot has ended. Then every commit in it is decided, and a transaction that begins now sees the
  // committed ones, unless its snapshot is older. Errors connection_failure, limit_exceeded.
  virtual reactor::Task<Result<std::uint32_t>> commit_slot() = 0;
  virtual reactor::Task<Result<bool>> slot_ended(std::uint32_t slot) = 0;
  // Another slot, until the worker's connection to the memory servers ends. Errors likewise.
  virtual reactor::Task<Result<std::shared_ptr<const SlotLease>>> lease_slot() {
    co_return Status(ErrorCode::feature_not_supported, "slots are not leased here");
  }

  virtual Placement placement() const { return {}; }
  // The reports of all workers of this compute server about their connections to memory servers.
  virtual std::vector<fabric::ConnectionFacts> fabric_facts() { return {}; }
};

}  // namespace namdb::txn
