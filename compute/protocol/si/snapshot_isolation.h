// Snapshot isolation (NAM-DB §3-§5): reads from one snapshot of the timestamp vector, and writes that lock
// from exactly the version that was read and is visible: the first committer wins. Rules and their reasons:
// docs/internals/snapshot-isolation.md.
//
// Metadata: the header word and the version ring of every record (common/layout/record.h), the timestamp
// vector (common/layout/timestamp_vector.h).
#pragma once

#include <algorithm>
#include <vector>

#include "compute/txn/concurrency_control.h"
#include "compute/txn/snapshot.h"
#include "compute/txn/transaction_state.h"
#include "compute/txn/visibility.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

class SnapshotIsolation final : public ConcurrencyControl, public Visibility {
 public:
  explicit SnapshotIsolation(TransactionState& transaction);

  // --- Visibility ---
  // The session's own commits are told by their stamps.
  bool may_read_behind(txn::DeferredCommits& commits) override { return !commits.any_cut_off(); }
  bool ready() const override { return snapshot_.confirmed; }
  reactor::Task<Status> prepare() override;
  BeginningReads join(txn::BatchSet& batches) override;
  void piggyback(txn::BatchSet& batches) override { worker_.snapshots.add_confirmation(snapshot_, batches); }
  reactor::Task<Result<SnapshotCheck>> confirm_snapshot() override;
  std::uint64_t started_ns() const override { return snapshot_.started_ns; }
  std::uint64_t catalog_version() const override { return snapshot_.catalog_version(); }
  ReadDecision check_visibility(const RecordRead& read) override;
  // The chain may get a row of the session's own.
  bool absence_is_certain(layout::HeaderWord chain_lock) override {
    return !chain_lock.locked() || !is_own(chain_lock.stamp());
  }

  // --- ConcurrencyControl ---
  Status may_write(const Access& access) const override;
  GenerationEnd end(std::uint64_t generation, const Status& outcome, bool wrote) override;

 private:
  // A copy that other transactions of this worker use, too.
  reactor::Task<Status> share();
  // The session has used the snapshot from now on.
  Status use();
  bool catalog_is_old() const;
  // Whether it is a commit of the session that was answered before the snapshot could show it.
  bool is_own(layout::Stamp stamp) const {
    return !own_.empty() && std::ranges::find(own_, stamp) != own_.end();
  }
  txn::StampVisibility visibility_of(layout::Stamp stamp) const {
    return is_own(stamp) ? txn::StampVisibility::visible : worker_.snapshots.visibility(snapshot_, stamp);
  }

  txn::WorkerState& worker_;
  SessionState& session_;
  fabric::OperationCounters& counters_;
  txn::Snapshot snapshot_;
  std::vector<layout::Stamp> own_;
  std::uint32_t attempts_ = 0;
};

}  // namespace namdb::protocol
