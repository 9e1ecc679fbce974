#include "memory/reclaim/old_versions.h"

#include <set>

#include "common/layout/record_trailer.h"

namespace namdb::memory {

reactor::Task<void> OldVersions::tick(const Peers& peers) {
  // Of one record the older entry always goes first. A commit that displaces a version has seen that
  // version's own commit published, but this server may know of the two from different times.
  std::set<std::uint64_t> kept_records;
  std::uint32_t in_step = 0;
  Aging seen{};
  std::deque<Waiting> kept;
  for (std::size_t i = waiting_.size(); i > 0; --i) {
    const Waiting first = waiting_.front();
    waiting_.pop_front();
    if (!kept_records.contains(first.version.record) && visibility_.published(first.successor)) {
      seen.versions.push_back(first.version);
      live_.remove(first.version.entry_bytes);
      aged_.add(first.version.entry_bytes);
    } else {
      kept.push_back(first);
      kept_records.insert(first.version.record);
    }
    if (++in_step < options_.step_units) continue;
    in_step = 0;
    co_await executor_.yield();
  }
  waiting_.insert(waiting_.begin(), kept.begin(), kept.end());
  if (!seen.versions.empty()) {
    seen.seen_ns = executor_.now_ns();
    seen.epoch = epoch_.raise();
    aging_.push_back(std::move(seen));
  }

  const std::uint64_t age_ns = options_.max_transaction_ns + options_.slack_ns;
  while (!aging_.empty()) {
    Aging& oldest = aging_.front();
    const bool acknowledged =
        options_.collect_by_acknowledgement && oldest.epoch <= peers.acknowledged().versions;
    if (!acknowledged && executor_.now_ns() - oldest.seen_ns < age_ns) break;
    while (!oldest.versions.empty()) {
      unlink_and_free(oldest.versions.front());
      oldest.versions.pop_front();
      if (++in_step < options_.step_units) continue;
      in_step = 0;
      co_await executor_.yield();
    }
    aging_.pop_front();
  }
}

std::vector<OldVersion> OldVersions::pending() const {
  std::vector<OldVersion> pending;
  for (const Waiting& waiting : waiting_) pending.push_back(waiting.version);
  for (const Aging& aging : aging_)
    pending.insert(pending.end(), aging.versions.begin(), aging.versions.end());
  return pending;
}

void OldVersions::unlink_and_free(const OldVersion& version) {
  const TablePointer table = tables_.find(version.table);
  // The records of a discarded table are in use no more.
  if (table && table->records.used(version.record)) {
    const layout::OverflowLink newer(
        region_.load(Overflow::newer_offset(version.entry, version.entry_bytes)));
    const std::uint64_t head = version.record + layout::overflow_head_offset(table->shape.record);
    if (newer.none()) {
      if (region_.load(head) == version.entry.word()) region_.store(head, 0);
    } else if (overflow_.used(newer, version.entry_bytes) &&
               region_.load(newer.entry() + layout::kOverflowNext_offset) == version.entry.word()) {
      region_.store(newer.entry() + layout::kOverflowNext_offset, 0);
    }
  }
  overflow_.free(version.entry, version.entry_bytes);
  aged_.remove(version.entry_bytes);
  ++collected_;
}

}  // namespace namdb::memory
