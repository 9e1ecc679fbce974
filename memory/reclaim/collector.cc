#include "memory/reclaim/collector.h"

#include <algorithm>

namespace namdb::memory {
namespace {

// The pace is so much faster while dead entries of indexes wait, or a writer for memory.
constexpr std::uint64_t kHurry = 8;

}  // namespace

bool Collector::nothing_to_free() const {
  return duties_.old_versions.empty() && duties_.tombstones.empty() && duties_.reclaimer.empty() &&
         !duties_.indexes.aging() && !scan_is_wanted() &&
         (duties_.slots == nullptr || duties_.slots->closed_count() == 0);
}

bool Collector::idle() const {
  return nothing_to_free() && (options_.heartbeat_timeout_ns == 0 || duties_.peers.all().empty());
}

std::uint64_t Collector::pause_ns() const {
  // Readers of an index pass its dead entries as long as they are there.
  if (duties_.indexes.aging() || hasty_ != 0) return options_.collect_interval_ns / kHurry;
  if (!nothing_to_free()) return options_.collect_interval_ns;
  return std::max(options_.collect_interval_ns, options_.heartbeat_timeout_ns / 4);
}

void Collector::fence_silent() {
  const std::uint64_t now = executor_.now_ns();
  if (options_.heartbeat_timeout_ns == 0 || now < options_.heartbeat_timeout_ns) return;
  for (const std::string& compute_id : duties_.peers.silent_since(now - options_.heartbeat_timeout_ns)) {
    if (!duties_.peers.fenced(compute_id)) duties_.fence(compute_id);
  }
}

reactor::Task<void> Collector::free_reusable() {
  duties_.reclaimer.tick(executor_.now_ns(), options_.reuse_interval_ns);
  while (true) {
    const auto freed = duties_.reclaimer.take(duties_.peers.acknowledged().epoch, options_.step_units);
    if (freed.empty()) break;
    returning_ = true;
    for (const Freed& piece : freed) {
      if (piece.outgrown) {
        co_await duties_.tables.release_outgrown(piece.table, piece.offset);
        ++returned_;
      } else if (piece.offset != 0) {
        duties_.tables.free_record(piece.table, piece.offset);
      } else {
        bool released = false;
        if (duties_.indexes.known(piece.table)) {
          released = co_await duties_.indexes.release(piece.table);
        } else {
          released = duties_.tables.release(piece.table);
          if (released) duties_.reservations.forget(piece.table);
        }
        if (!released) duties_.reclaimer.defer(piece);  // a task still uses it
        if (released) ++returned_;
      }
    }
    returned_more_.notify_all();
    co_await executor_.yield();
  }
  returning_ = false;
}

reactor::Task<void> Collector::wait_for_return(std::uint64_t deadline_ns) {
  co_await returned_more_.wait_until(deadline_ns);
}

bool Collector::scan_is_wanted() const {
  return unnoted_ || duties_.tables.refusals() != seen_refusals_;
}

void Collector::settle(const std::set<std::string>& ended) {
  if (ended.empty()) return;
  duties_.reservations.release(ended);
  duties_.forget(ended);
  unnoted_ = true;
  wake();
}

bool Collector::scan_is_due() {
  // Tombstones without a note are searched for when the region is full, and when compute servers were killed,
  // now and then.
  if (!scan_is_wanted()) return false;
  const std::uint64_t now = executor_.now_ns();
  if (scanned_ && now - scanned_ns_ < options_.max_transaction_ns + options_.slack_ns) return false;
  seen_refusals_ = duties_.tables.refusals();
  unnoted_ = false;
  scanned_ = true;
  scanned_ns_ = now;
  return true;
}

reactor::Task<void> Collector::run(fabric::Channel& loopback) {
  const std::uint64_t age_ns = options_.max_transaction_ns + options_.slack_ns;
  while (!stopping_) {
    // Only a peer that goes, or a slot that is closed, gives this something to do; both wake.
    if (duties_.slots != nullptr) settle(duties_.disconnected_peers.settle(*duties_.slots));
    if (idle()) {
      co_await wake_.wait();
      continue;
    }
    fence_silent();
    if (scan_is_due()) co_await duties_.tombstones.scan();
    const std::uint64_t collected = duties_.old_versions.collected();
    co_await duties_.old_versions.tick(duties_.peers);
    if (duties_.old_versions.collected() != collected) returned_more_.notify_all();
    co_await duties_.tombstones.tick(loopback, duties_.peers);
    co_await duties_.indexes.tick(duties_.peers);
    co_await free_reusable();
    if (duties_.slots != nullptr) duties_.slots->retire(executor_.now_ns(), age_ns);
    if (stopping_) break;
    // A wake may shorten the pause, never below the pace of a collector with work.
    const std::uint64_t begun_ns = executor_.now_ns();
    while (!stopping_ && executor_.now_ns() < begun_ns + pause_ns()) {
      co_await wake_.wait_until(begun_ns + pause_ns());
    }
  }
}

}  // namespace namdb::memory
