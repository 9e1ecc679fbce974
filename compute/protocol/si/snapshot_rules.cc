#include "compute/protocol/si/snapshot_rules.h"

#include <algorithm>

#include "compute/cluster/catalog_cache.h"
#include "compute/txn/access.h"
#include "compute/txn/errors.h"
#include "compute/txn/make_rules.h"
#include "compute/txn/slot_keeper.h"
#include "compute/txn/snapshot_fetcher.h"

namespace namdb::protocol {
namespace {

constexpr std::uint32_t kMaxAttempts = 1000;

}  // namespace

SnapshotRules::SnapshotRules(StagedTransaction& transaction)
    : Rules({}),
      worker_(transaction.worker()),
      session_(transaction.session()),
      counters_(transaction.mutable_counters()) {}

reactor::Task<Status> SnapshotRules::prepare() {
  if (snapshot_.taken) co_return Status();
  Status status;
  if (worker_.sharing == txn::SnapshotSharing::own) {
    status = co_await worker_.snapshots.take(snapshot_, counters_);
  } else {
    status = co_await share();
  }
  if (!status.ok() || !snapshot_.confirmed) co_return status;
  status = use();
  if (status.ok() && catalog_is_old()) status = co_await worker_.catalog.refresh();
  co_return status;
}

reactor::Task<Status> SnapshotRules::share() {
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

reactor::Task<Result<bool>> SnapshotRules::settle() {
  if (!worker_.snapshots.confirm(snapshot_)) {
    ++counters_.rereads;
    if (++attempts_ > kMaxAttempts)
      co_return Status(ErrorCode::snapshot_unstable, "no two copies of the timestamp vector agreed");
    co_return false;  // what was read may not belong to the newer copy
  }
  Status status = use();
  if (status.ok() && catalog_is_old()) status = co_await worker_.catalog.refresh();
  if (!status.ok()) co_return status;
  co_return true;
}

bool SnapshotRules::catalog_is_old() const {
  return snapshot_.catalog_version() > worker_.catalog.version();
}

Status SnapshotRules::use() {
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
  return {};
}

Judgement SnapshotRules::judge(const SeenRecord& seen) {
  bool visible = false;
  switch (worker_.snapshots.visibility(snapshot_, seen.body.stamp)) {
    case txn::Visibility::visible:
      visible = true;
      break;
    case txn::Visibility::invisible:
      break;
    case txn::Visibility::unknown_slot:
      if (!worker_.slots.decides(seen.body.stamp.slot, snapshot_.read_ns)) return Judgement::unknown_slot;
      visible = worker_.slots.retired(seen.body.stamp.slot);
      break;
  }
  // The lock's commit is published in this snapshot, so its install must be waited for: the body is older.
  if (seen.current && seen.header.locked() && seen.header.stamp() != seen.body.stamp &&
      worker_.snapshots.visibility(snapshot_, seen.header.stamp()) == txn::Visibility::visible) {
    return Judgement::held;
  }
  return visible ? Judgement::visible : Judgement::invisible;
}

Status SnapshotRules::may_write(const Access& access) const {
  // A version that the snapshot does not see has won; an insert's invisible rival as well.
  return access.lookup.current_is_visible() ? Status() : write_conflict(*access.table);
}

reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> SnapshotRules::slot() {
  return worker_.slot_keeper.acquire();
}

bool SnapshotRules::give_up(std::uint64_t /*generation*/, const Status& outcome, bool wrote) {
  if (!outcome.ok() || wrote) session_.fresh_from_ns = worker_.executor.fresh_now_ns();
  // One that is shared counts as a running transaction.
  if (snapshot_.shared != nullptr) snapshot_ = {};
  return false;
}

std::unique_ptr<Rules> make_si_rules(StagedTransaction& transaction) {
  return std::make_unique<SnapshotRules>(transaction);
}

}  // namespace namdb::protocol
