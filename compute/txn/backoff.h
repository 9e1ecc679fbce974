// How long a worker's transactions wait before they are tried again: at random, within bounds that double
// with each attempt. The bounds depend on the duration of an attempt here, since rivals hold their locks
// about as long, and on contention, the share of this worker's recent attempts that ended in a conflict.
// Under high contention even the first retry waits for about as many attempts of others as conflict for one
// that commits, so that some transaction commits. Under low contention no transaction waits long, even after
// several conflicts: otherwise one that conflicts often would lose to all that begin later. After very many
// conflicts the cause is not a rival but a lock that stays, such as that of a dead compute server. Then the
// transaction waits for the longest time allowed, so that the lock can be undone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/random.h"
#include "compute/api/engine.h"

namespace namdb::txn {

class Backoff {
 public:
  explicit Backoff(const RetryOptions& options) : options_(options) {}

  // A transaction begins, for the first time or again.
  void begins() { conflicts_ -= conflicts_ / kRecent; }
  // It took so long, with any outcome. Very long ones, as of a client that thinks, count little.
  void ended(std::uint64_t duration_ns) {
    const std::uint64_t counted_ns = std::min(duration_ns, 4 * attempt_ns_ + options_.first_backoff_ns);
    attempt_ns_ += counted_ns / kSmoothing;
    attempt_ns_ -= std::min(attempt_ns_, attempt_ns_ / kSmoothing);
  }
  // The attempt met a conflict: the transaction will be tried again.
  void met_conflict() { conflicts_ = std::min(conflicts_ + kAll / kRecent, kAll); }
  // From 0 to kAll.
  std::uint64_t contention() const { return conflicts_; }

  // At most so long before attempt `attempt` (1 = first retry), and at least half of it.
  std::uint64_t bound_ns(std::uint32_t attempt) const {
    const std::uint64_t attempt_ns = std::min(attempt_ns_, options_.max_backoff_ns);
    // If nine of ten attempts conflict, nine other transactions are in the way of one.
    const std::uint64_t others_ns =
        attempt_ns * conflicts_ / std::max(kAll - conflicts_, kAll / (kMostOthers + 1));
    const std::uint64_t least_ns = options_.first_backoff_ns + others_ns;
    const std::uint64_t most_ns =
        std::max(kMostOthers * options_.first_backoff_ns, 2 * kMostOthers * attempt_ns * conflicts_ / kAll);
    const std::uint64_t doubled_ns = least_ns << std::min<std::uint32_t>(attempt - 1, kMostDoublings);
    const std::uint32_t stuck = std::max(attempt, kRivals) - kRivals;
    return std::min({doubled_ns, most_ns << std::min(stuck, kMostDoublings), options_.max_backoff_ns});
  }
  std::uint64_t pause_ns(std::uint32_t attempt, Random& random) const {
    const std::uint64_t bound = bound_ns(attempt);
    return random.between(bound / 2, bound);
  }

  static constexpr std::uint64_t kAll = 1U << 16;

 private:
  static constexpr std::uint64_t kRecent = 32;  // attempts
  static constexpr std::uint64_t kSmoothing = 16;
  static constexpr std::uint64_t kMostOthers = 16;  // that are waited for at first
  static constexpr std::uint32_t kMostDoublings = 20;
  static constexpr std::uint32_t kRivals = 16;  // attempts that are lost to others

  RetryOptions options_;
  std::uint64_t conflicts_ = 0;
  std::uint64_t attempt_ns_ = 0;  // of recent ones, about
};

}  // namespace namdb::txn
