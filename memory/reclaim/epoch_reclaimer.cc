#include "memory/reclaim/epoch_reclaimer.h"

#include <algorithm>

namespace namdb::memory {

void EpochReclaimer::defer(Freed freed) {
  open_.freed.push_back(freed);
}

void EpochReclaimer::tick(std::uint64_t now_ns, std::uint64_t interval_ns) {
  if (open_.freed.empty() || (epoch_ > 1 && now_ns - raised_ns_ < interval_ns)) return;
  open_.epoch = ++epoch_;
  raised_ns_ = now_ns;
  closed_.push_back(std::exchange(open_, {}));
}

std::vector<Freed> EpochReclaimer::take(std::uint64_t acknowledged_epoch, std::size_t limit) {
  std::vector<Freed> ready;
  while (!closed_.empty() && ready.size() < limit) {
    Batch& batch = closed_.front();
    if (batch.epoch > acknowledged_epoch) break;
    const std::size_t count = std::min(limit - ready.size(), batch.freed.size());
    ready.insert(ready.end(), batch.freed.begin(), batch.freed.begin() + static_cast<std::ptrdiff_t>(count));
    batch.freed.erase(batch.freed.begin(), batch.freed.begin() + static_cast<std::ptrdiff_t>(count));
    if (batch.freed.empty()) closed_.pop_front();
  }
  return ready;
}

std::vector<Freed> EpochReclaimer::pending() const {
  std::vector<Freed> pending(open_.freed.begin(), open_.freed.end());
  for (const Batch& batch : closed_) pending.insert(pending.end(), batch.freed.begin(), batch.freed.end());
  return pending;
}

bool EpochReclaimer::has_extents() const {
  const auto has = [](const Batch& batch) {
    return std::ranges::any_of(batch.freed,
                               [](const Freed& freed) { return freed.offset == 0 || freed.outgrown; });
  };
  return has(open_) || std::ranges::any_of(closed_, has);
}

std::uint64_t EpochReclaimer::pending_count() const {
  std::uint64_t count = open_.freed.size();
  for (const Batch& batch : closed_) count += batch.freed.size();
  return count;
}

}  // namespace namdb::memory
