#include "compute/txn/snapshot_fetcher.h"

#include <algorithm>
#include <utility>

namespace namdb::txn {
namespace {

constexpr std::uint32_t kMaxAttempts = 1000;

}  // namespace

reactor::Task<Result<std::shared_ptr<const SharedSnapshot>>> SnapshotFetcher::get(
    std::uint64_t not_before_ns, fabric::OperationCounters& counters) {
  used_ = true;
  bool waited = false;
  while (newest_ == nullptr || newest_->snapshot.started_ns < not_before_ns) {
    if (!failure_.ok()) co_return failure_;
    if (waited && !last_.ok()) co_return last_;
    wanted_ns_ = std::max(wanted_ns_, not_before_ns);
    if (!running_) {
      running_ = true;
      cluster_.executor().spawn(gate_, run());
    }
    asked_.notify_all();
    waited = true;
    co_await fetched_.wait();
    used_ = true;
  }
  if (waited) ++counters.round_trips;
  counters += std::exchange(unclaimed_, {});
  co_return newest_;
}

reactor::Task<Status> SnapshotFetcher::fetch(Snapshot& snapshot) {
  BatchSet batches(cluster_);
  for (std::uint32_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
    Status status;
    if (!snapshot.taken) status = co_await source_.take(snapshot, unclaimed_);
    if (!status.ok() || snapshot.confirmed) co_return status;
    source_.add_confirmation(snapshot, batches);
    status = co_await batches.run(unclaimed_);
    if (!status.ok() || source_.confirm(snapshot)) co_return status;
    ++unclaimed_.rereads;
  }
  co_return Status(ErrorCode::snapshot_unstable, "no two copies of the timestamp vector agreed");
}

reactor::Task<void> SnapshotFetcher::run() {
  bool needed = true;
  while (needed && !closing_ && failure_.ok()) {
    used_ = false;
    auto copy = std::make_shared<SharedSnapshot>(registry_);
    Status status = co_await fetch(copy->snapshot);
    unclaimed_.round_trips = 0;  // each transaction counts what it waited for itself
    last_ = status;
    if (status.ok()) {
      newest_ = std::move(copy);
    } else if (cluster_.failed()) {
      failure_ = std::move(status);
    }
    fetched_.notify_all();
    const auto somebody_waits = [this] {
      return newest_ != nullptr && newest_->snapshot.started_ns < wanted_ns_;
    };
    const std::uint64_t next_ns = cluster_.executor().fresh_now_ns() + options_.interval_ns;
    while (!somebody_waits() && !closing_ && failure_.ok()) {
      if (!co_await asked_.wait_until(next_ns)) break;
    }
    needed = (options_.ahead && used_) || somebody_waits();
  }
  newest_.reset();
  running_ = false;
}

reactor::Task<void> SnapshotFetcher::close() {
  closing_ = true;
  if (failure_.ok()) failure_ = Status(ErrorCode::connection_failure, "the connection is being closed");
  asked_.notify_all();
  fetched_.notify_all();
  co_await gate_.close();
  newest_.reset();
}

}  // namespace namdb::txn
