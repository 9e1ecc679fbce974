#include "compute/cluster/primary_leases.h"

#include <algorithm>
#include <string>

#include "common/calls/hot_calls.h"

namespace namdb::txn {
namespace {

// How often a waiter asks whether its client still wants the answer.
constexpr std::uint64_t kLook_ns = 50 * kMillisecond_ns;
// Behind a refusal.
constexpr std::uint64_t kRetry_ns = 5 * kMillisecond_ns;

}  // namespace

PrimaryLeases::PrimaryLeases(Cluster& cluster) : cluster_(cluster), changed_(cluster.executor()) {}

void PrimaryLeases::start() {
  for (std::size_t i = 0; i < cluster_.server_count(); ++i) {
    const auto server = static_cast<layout::ServerId>(i);
    if (cluster_.leased(server)) leases_.push_back({.server = server});
  }
}

reactor::Task<void> PrimaryLeases::close() {
  auto all_ended = gate_.close();
  changed_.notify_all();
  co_await all_ended;
}

bool PrimaryLeases::held(std::uint64_t began_ns) {
  if (leases_.empty()) [[likely]]
    return true;
  const std::uint64_t now_ns = cluster_.executor().fresh_now_ns();
  if (now_ns >= least_until_ns_ || began_ns < all_since_ns_) return false;
  if (least_until_ns_ - now_ns < calls::kWorkerLease_ns / 2) renew(now_ns);
  return true;
}

void PrimaryLeases::look(std::uint64_t now_ns) {
  least_until_ns_ = ~std::uint64_t{0};
  for (Lease& lease : leases_) {
    if (!lease.over && now_ns >= lease.until_ns && cluster_.lacks(lease.server)) {
      lease.over = true;
      all_since_ns_ = now_ns + 1;
    }
    if (!lease.over) least_until_ns_ = std::min(least_until_ns_, lease.until_ns);
  }
}

void PrimaryLeases::renew(std::uint64_t now_ns) {
  for (Lease& lease : leases_) {
    if (lease.asking || lease.over || now_ns < lease.retry_ns || cluster_.lacks(lease.server) ||
        gate_.closing())
      continue;
    if (now_ns < lease.until_ns && lease.until_ns - now_ns >= calls::kWorkerLease_ns / 2) continue;
    lease.asking = true;
    cluster_.executor().spawn(gate_, ask(&lease));
  }
}

reactor::Task<void> PrimaryLeases::ask(Lease* lease) {
  const std::uint64_t posted_ns = cluster_.executor().fresh_now_ns();
  const auto reply = co_await cluster_.call_bytes(lease->server, calls::kLeaseMethod, "");
  lease->asking = false;
  if (reply.ok()) {
    lease->until_ns = posted_ns + calls::kWorkerLease_ns;
  } else {
    lease->retry_ns = cluster_.executor().now_ns() + kRetry_ns;
  }
  look(cluster_.executor().fresh_now_ns());
  changed_.notify_all();
}

reactor::Task<Status> PrimaryLeases::confirm(std::uint64_t began_ns, const Transaction* user) {
  while (true) {
    const std::uint64_t now_ns = cluster_.executor().fresh_now_ns();
    look(now_ns);
    if (began_ns < all_since_ns_) {
      co_return Status(ErrorCode::serialization_failure,
                       "a memory server was lost, and rows that were read there may have changed elsewhere");
    }
    if (held(began_ns)) co_return Status();
    if (cluster_.failed() || gate_.closing()) {
      co_return Status(ErrorCode::connection_failure,
                       "the connection to a memory server was lost before it was certain that the rows "
                       "that were read there were still current");
    }
    Status wanted = user->check_interrupt();
    if (!wanted.ok()) co_return wanted;
    renew(now_ns);
    const bool refused = std::ranges::any_of(
        leases_, [now_ns](const Lease& lease) { return !lease.over && now_ns < lease.retry_ns; });
    co_await changed_.wait_until(now_ns + (refused ? kRetry_ns : kLook_ns));
  }
}

}  // namespace namdb::txn
