// A copy becomes the primary of its region: it takes over, or the store says that the region is here.
#include <optional>
#include <utility>

#include "common/calls/hot_calls.h"
#include "memory/placement/follower.h"

namespace namdb::memory {

using placement::Configuration;
using placement::Place;

reactor::Task<Status> Follower::take_over() {
  auto read = co_await read_store();
  while (read.ok() && !gate_.closing()) {
    // A value that is gone meanwhile, or another database's, names no primary: look() says so.
    if (options_.server_id >= read->configuration.regions()) co_return Status();
    Place place = read->configuration.place(options_.server_id);
    if (place.address == options_.address) {
      Configuration configuration = read->configuration;
      co_return co_await come_here(std::move(configuration));
    }
    if (place.address != primary_ || !place.has_copy(options_.address)) co_return Status();
    notice("takes over " + region_name() + ": " + primary_ + " has not answered for " +
           std::to_string((executor_.now_ns() - heard_ns_) / kMillisecond_ns) + " ms");
    Configuration next = read->configuration;
    next.set(options_.server_id, {place.number + 1, options_.address, {}});
    Configuration changed = next;
    const auto replaced = co_await store_.replace(read->revision, std::move(changed));
    if (replaced.ok() && *replaced) co_return co_await come_here(std::move(next));
    // Perhaps it has happened, or will within seconds: the store says what became of it. After that time it
    // follows again, which loses nothing: a primary that lets it count waits for it, and one that is deposed
    // has no lease once it follows no more.
    const std::uint64_t until_ns = executor_.now_ns() + options_.unknown_ns;
    while (!gate_.closing()) {
      read = co_await read_store();
      if (read.ok() || read.status().code() != ErrorCode::connection_failure) break;
      told("does not know whether it has taken over, and asks the configuration store again: " +
           read.status().message());
      if (executor_.now_ns() >= until_ns) co_return Status();
      co_await changed_.wait_until(executor_.now_ns() + options_.retry_ns);
    }
  }
  if (!read.ok() && read.status().code() != ErrorCode::connection_failure) co_return read.status();
  co_return Status();
}

reactor::Task<Status> Follower::come_here(Configuration configuration) {
  if (!whole()) {
    co_return Status(ErrorCode::configuration,
                     "the configuration store " + store_.name() + " says that " + region_name() +
                         " is here, at " + options_.address + ", but the folder has no whole copy of it",
                     "start this host with the folder that has it");
  }
  co_await leave_primary();
  co_await finish_image();
  const std::uint64_t opens_ns =
      posted_ns_ + placement::kLease_ns + calls::kWorkerLease_ns + placement::kLeaseSlack_ns;
  while (executor_.fresh_now_ns() < opens_ns && !gate_.closing()) co_await changed_.wait_until(opens_ns);
  if (gate_.closing()) co_return Status();
  PlaceRecord record = keeper_.record();
  record.state = PlaceState::here;
  record.configuration.learn(configuration);
  co_return co_await keeper_.store(std::move(record));
}

// While the leases of others run out. Without the image the folder opens as after a restart.
reactor::Task<void> Follower::finish_image() {
  co_await applier_.finish();
  co_await applier_.stop();
  const bool has_all = folder_.log() != nullptr && applier_.has_all(*folder_.log());
  image_ = applier_.take();
  if (!has_all) {
    // The rest is read when the region opens.
    co_await folder_.close();
    co_return;
  }
  std::optional<LogEnd> end = co_await folder_.end_log();
  if (!end) co_return;
  image_->end_log(std::move(*end));
  if (gate_.closing()) image_->stop();
  const Status status = co_await image_->derive();
  if (status.ok() || gate_.closing()) co_return;
  notice("what was kept of the region in memory is of no use: " + status.message());
  image_.reset();
}

}  // namespace namdb::memory
