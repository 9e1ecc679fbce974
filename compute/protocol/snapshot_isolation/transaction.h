// A transaction under snapshot isolation (NAM-DB §3-§5): reads from one snapshot, buffered writes, and a
// commit that locks by CAS from exactly the version that was read (commit.h). Rules and their reasons:
// docs/internals/snapshot-isolation.md.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "common/reactor/pooled_allocator.h"
#include "compute/protocol/snapshot_isolation/access.h"
#include "compute/txn/batch_set.h"
#include "compute/txn/engine.h"
#include "compute/txn/snapshot.h"
#include "compute/txn/transaction.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

// Words of the newest snapshot that the session has used: a later one shows at least as much.
struct SessionState : txn::Session {
  std::vector<std::uint64_t> newest_words;
  // When the session's last commit was published or its last transaction failed: a copy of the vector that
  // others took before that will not do.
  std::uint64_t fresh_from_ns = 0;
};

class SnapshotTransaction : public txn::Transaction {
 public:
  SnapshotTransaction(txn::WorkerState& worker, SessionState& session);
  ~SnapshotTransaction() override;

  static void* operator new(std::size_t bytes) { return reactor::allocate_frame(bytes); }
  static void operator delete(void* place, std::size_t bytes) { reactor::free_frame(place, bytes); }

  txn::RowId get(const storage::TableRef& table, std::span<const std::byte> key) override;
  txn::RowId insert(const storage::TableRef& table, std::span<const std::byte> row) override;
  reactor::Task<Status> fetch() override;
  bool found(txn::RowId row) const override;
  layout::RowView row(txn::RowId row) const override;
  layout::RowWriter update(txn::RowId row) override;
  void erase(txn::RowId row) override;
  std::unique_ptr<txn::TableScan> scan(const storage::TableRef& table) override;
  std::unique_ptr<txn::TableScan> scan_index(const storage::TableRef& table, const storage::IndexRef& index,
                                             txn::IndexRange range) override;
  reactor::Task<Status> find(storage::TableRef table, storage::IndexRef index, txn::IndexRange range,
                             std::vector<txn::RowId>& rows) override;
  reactor::Task<Status> commit() override;
  void abort() override;
  bool has_writes() const override;
  const fabric::OperationCounters& counters() const override { return counters_; }

  // --- for scans and commit.h ---
  txn::WorkerState& worker() { return worker_; }
  txn::Snapshot& snapshot() { return snapshot_; }
  fabric::OperationCounters& mutable_counters() { return counters_; }
  reactor::PooledDeque<Access>& accesses() { return accesses_; }
  const Access* find_access(const storage::Table& table, std::span<const std::byte> key);
  // Runs the lookups to their ends, in as few round trips as they allow. Takes and confirms the snapshot on
  // the way. The lookups stay where they are until this returns.
  reactor::Task<Status> run_lookups(reactor::PooledVector<Lookup*> lookups,
                                    reactor::PooledVector<const storage::Table*> tables);
  // After any READ: once the transaction has outlived E, error snapshot_too_old, or transaction_timeout if it
  // has changes; query_canceled when it is interrupted. Never while locks are held.
  Status check_going_on() const;
  // Takes the snapshot and confirms it, for whoever READs without lookups.
  reactor::Task<Status> ensure_snapshot();
  reactor::Task<Status> check_table(const storage::Table& table);

 private:
  Access& access(const storage::TableRef& table, std::span<const std::byte> key, txn::RowId& row);
  Access* find(std::uint32_t table, std::span<const std::byte> key, std::uint64_t hash, txn::RowId& row);
  reactor::Task<Status> do_fetch();
  reactor::Task<Status> take_snapshot();
  reactor::Task<Status> use_snapshot();
  reactor::Task<void> pause(std::uint32_t waits);

  txn::WorkerState& worker_;
  SessionState& session_;
  std::uint64_t generation_ = 0;
  bool ended_ = false;
  Status failure_;  // the first that fetch() reported
  txn::Snapshot snapshot_;
  txn::BatchSet batches_;
  fabric::OperationCounters counters_;
  reactor::PooledDeque<Access> accesses_;
  std::unordered_multimap<std::uint64_t, txn::RowId> by_hash_;  // used once there are many
  reactor::PooledVector<txn::RowId> unfetched_;
  struct CheckedTable {
    std::uint32_t id;
    std::size_t name_hash;
  };
  reactor::PooledVector<CheckedTable> checked_tables_;
};

}  // namespace namdb::protocol
