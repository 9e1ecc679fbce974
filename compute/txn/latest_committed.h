// Visibility without a snapshot: a transaction begins with the catalog of that moment, and reads rows as they
// are then. Metadata: the record's header word (common/layout/record.h).
#pragma once

#include "common/fabric/local_pool.h"
#include "compute/txn/lock_owner.h"
#include "compute/txn/visibility.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

// The beginning, for protocols that need no snapshot: the first READ of rows reads the catalog's version,
// too.
class CatalogVisibility : public Visibility {
 public:
  explicit CatalogVisibility(txn::WorkerState& worker) : worker_(worker) {}

  bool ready() const override { return ready_; }
  reactor::Task<Status> prepare() override;
  void piggyback(txn::BatchSet& batches) override;
  reactor::Task<Result<SnapshotCheck>> confirm_snapshot() override;
  std::uint64_t started_ns() const override { return started_ns_; }
  std::uint64_t catalog_version() const override { return catalog_version_; }
  bool absence_is_certain(layout::HeaderWord chain_lock) override {
    return ignores_locks_ || !chain_lock.locked();
  }
  void ignore_locks(bool on) override { ignores_locks_ = on; }

 protected:
  ~CatalogVisibility() = default;
  bool ignores_locks() const { return ignores_locks_; }

 private:
  txn::WorkerState& worker_;
  std::uint64_t started_ns_ = 0;
  std::uint64_t catalog_version_ = 0;
  bool ready_ = false;
  bool ignores_locks_ = false;
  fabric::LocalBuffer catalog_word_;
};

// The newest committed version of every record.
class LatestVisibility : public CatalogVisibility {
 public:
  LatestVisibility(txn::WorkerState& worker, LockOwner& owner) : CatalogVisibility(worker), owner_(owner) {}

  ReadDecision check_visibility(const RecordRead& read) override;
  bool holds(layout::GlobalAddress record) const override { return owner_.has_locked(record); }

 protected:
  ~LatestVisibility() = default;

 private:
  LockOwner& owner_;
};

class LatestCommitted final : public LatestVisibility {
 public:
  using LatestVisibility::LatestVisibility;
};

}  // namespace namdb::protocol
