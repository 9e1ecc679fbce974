#include "compute/protocol/si/snapshot_isolation.h"

#include <algorithm>

#include "compute/cluster/catalog_cache.h"
#include "compute/txn/access.h"
#include "compute/txn/errors.h"
#include "compute/txn/snapshot_fetcher.h"
#include "compute/txn/worker_protocol.h"

namespace namdb::protocol {
namespace {

constexpr std::uint32_t kMaxAttempts = 1000;

}  // namespace

SnapshotIsolation::SnapshotIsolation(TransactionState& transaction)
    : worker_(transaction.worker()),
      session_(transaction.session()),
      counters_(transaction.mutable_counters()) {
  decide_by({.visibility = this});
}

reactor::Task<Status> SnapshotIsolation::prepare() {
  if (snapshot_.taken) co_return Status();
  Status status;
  if (worker_.sharing == txn::SnapshotSharing::own) {
    status = co_await worker_.snapshots.take(snapshot_, counters_);
  } else {
    status = co_await share();
  }
  if (!status.ok() || !snapshot_.confirmed) co_return status;
  status = use();
  if (!status.ok() || !catalog_is_old()) co_return status;
  co_return co_await worker_.catalog.refresh();
}

BeginningReads SnapshotIsolation::join(txn::BatchSet& batches) {
  if (snapshot_.taken || worker_.sharing != txn::SnapshotSharing::own || !worker_.snapshots.joins())
    return BeginningReads::separate;
  worker_.snapshots.add_both(snapshot_, batches);
  return BeginningReads::added;
}

reactor::Task<Status> SnapshotIsolation::share() {
  std::uint64_t not_before_ns = worker_.executor.fresh_now_ns();
  if (worker_.sharing == txn::SnapshotSharing::prefetched) {
    // The copy's age is the transaction's, too.
    const std::uint64_t age_ns =
        std::min(txn::kMaxPrefetchedAge_ns, worker_.cluster.max_transaction_ns() / 8);
    not_before_ns = std::max(session_.fresh_from_ns, not_before_ns - std::min(not_before_ns, age_ns));
  }
  auto copy = co_await worker_.fetcher.get(not_before_ns, counters_);
  if (!copy.ok()) co_return copy.status();
  snapshot_.use((*copy)->snapshot, *copy);
  co_return Status();
}

reactor::Task<Result<SnapshotCheck>> SnapshotIsolation::confirm_snapshot() {
  if (!worker_.snapshots.confirm(snapshot_)) {
    ++counters_.rereads;
    if (++attempts_ > kMaxAttempts)
      co_return Status(ErrorCode::snapshot_unstable, "no two copies of the timestamp vector agreed");
    co_return SnapshotCheck::unstable;  // what was read may not belong to the newer copy
  }
  Status status = use();
  if (!status.ok()) co_return status;
  if (catalog_is_old()) {
    status = co_await worker_.catalog.refresh();
    if (!status.ok()) co_return status;
  }
  co_return SnapshotCheck::confirmed;
}

bool SnapshotIsolation::catalog_is_old() const {
  return snapshot_.catalog_version() > worker_.catalog.version();
}

Status SnapshotIsolation::use() {
  // Monotonic for the session; words of slots that left the vector are checked no further.
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(snapshot_.words, session_.newest_words.size()); ++i) {
    const layout::HeaderWord before(session_.newest_words[i]);
    if (snapshot_.word(i).stamp().slot == before.stamp().slot &&
        snapshot_.word(i).stamp().counter < before.stamp().counter) {
      return Status(ErrorCode::snapshot_went_back, "the timestamp vector went backwards");
    }
  }
  session_.newest_words.resize(snapshot_.words);
  for (std::uint64_t i = 0; i < snapshot_.words; ++i) session_.newest_words[i] = snapshot_.word(i).value();
  // They only read what was visible to the session before: together with them it is a snapshot, too.
  own_ = session_.deferred.forget([this](const txn::DeferredCommit& commit) {
    const txn::StampVisibility known = worker_.snapshots.visibility(snapshot_, commit.id.stamp);
    const bool slot_left =
        known == txn::StampVisibility::unknown_slot && commit.ended && snapshot_.started_ns > commit.ended_ns;
    return known == txn::StampVisibility::visible || slot_left;
  });
  return {};
}

ReadDecision SnapshotIsolation::check_visibility(const RecordRead& read) {
  using txn::StampVisibility;
  bool visible = false;
  switch (visibility_of(read.body.stamp)) {
    case StampVisibility::visible:
      visible = true;
      break;
    case StampVisibility::invisible:
      break;
    case StampVisibility::unknown_slot:
      if (!worker_.slots.decides(read.body.stamp.slot, snapshot_.read_ns)) return ReadDecision::unknown_slot;
      visible = worker_.slots.retired(read.body.stamp.slot);
      break;
  }
  // The lock's commit is published in this snapshot, so its install must be waited for: the body is older.
  if (read.current && read.header.locked() && read.header.stamp() != read.body.stamp &&
      visibility_of(read.header.stamp()) == StampVisibility::visible) {
    return ReadDecision::locked_by_other;
  }
  return visible ? ReadDecision::visible : ReadDecision::invisible;
}

Status SnapshotIsolation::may_write(const Access& access) const {
  // A version that the snapshot does not see has won; an insert's invisible rival as well.
  return access.lookup.current_is_visible() ? Status() : write_conflict(*access.table);
}

GenerationEnd SnapshotIsolation::end(std::uint64_t /*generation*/, const Status& outcome, bool wrote) {
  const bool remembers = worker_.sharing == txn::SnapshotSharing::prefetched;
  if (remembers && (!outcome.ok() || wrote)) session_.fresh_from_ns = worker_.executor.fresh_now_ns();
  // A shared snapshot counts as a running transaction as long as it is used.
  if (snapshot_.shared != nullptr) snapshot_ = {};
  return GenerationEnd::by_caller;
}

std::unique_ptr<WorkerProtocol> make_si_protocol(txn::WorkerState& /*worker*/) {
  return std::make_unique<UnsharedProtocol<SnapshotIsolation>>();
}

}  // namespace namdb::protocol
