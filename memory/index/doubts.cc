#include "memory/index/doubts.h"

#include <algorithm>

namespace namdb::memory {
namespace {

constexpr std::uint64_t kHeld_ns = ~std::uint64_t{0};
// While so many entries are in doubt, their commits are given so much longer, up to a bound.
constexpr std::size_t kManyDoubts = 1024;
constexpr std::uint64_t kGraceOfMany_ns = 10 * kMillisecond_ns;
constexpr std::uint64_t kMostGrace_ns = 10 * kSecond_ns;

}  // namespace

void Doubts::enqueue(Map::iterator doubt, std::uint64_t due_ns) {
  doubt->second.due_ns = due_ns;
  // As a rule it is the last one.
  queue_.emplace_hint(queue_.end(), std::pair{due_ns, doubt->second.sequence}, doubt);
  if (due_ns == kHeld_ns) ++held_;
}

void Doubts::dequeue(const Doubt& doubt) {
  const std::pair place(doubt.due_ns, doubt.sequence);
  // As a rule it is the first one.
  const bool first = !queue_.empty() && queue_.begin()->first == place;
  if (first) queue_.erase(queue_.begin());
  const bool queued = first || queue_.erase(place) != 0;
  if (queued && doubt.due_ns == kHeld_ns) --held_;
}

Doubts::Map::iterator Doubts::find(std::uint32_t index, std::string_view key) {
  if (behind_settled_ != doubts_.end() && behind_settled_->first.index == index &&
      behind_settled_->first.key == key)
    return behind_settled_;
  return doubts_.find({index, std::string(key)});
}

Doubts::Map::iterator Doubts::erase(Map::iterator doubt) {
  const Map::iterator next = std::next(doubt);
  if (behind_raised_ == doubt) behind_raised_ = next;
  if (behind_settled_ == doubt) behind_settled_ = next;
  return doubts_.erase(doubt);
}

std::uint64_t Doubts::raise(IndexEntry entry, Raise how, std::uint64_t now_ns) {
  const std::size_t before = doubts_.size();
  const Map::iterator doubt = doubts_.try_emplace(behind_raised_, std::move(entry));
  behind_raised_ = std::next(doubt);
  if (doubts_.size() == before) dequeue(doubt->second);
  // The commit that raised it before may still be ahead of its locks, too.
  std::uint64_t locked_ns = doubt->second.locked_ns;
  if (how.ahead) locked_ns = now_ns + 2 * calls::kAheadOfLocks_ns;
  doubt->second = {.sequence = ++sequence_, .due_ns = 0, .locked_ns = locked_ns, .dead = false};
  enqueue(doubt, how.held ? kHeld_ns : std::max(locked_ns, now_ns + options_.index_grace_ns));
  return sequence_;
}

// A commit that raises many doubts takes longer until its verdicts come, for the first ones as well.
bool Doubts::due(std::uint64_t now_ns) const {
  const std::size_t waiting = queue_.size() - held_;
  const std::uint64_t more_ns = std::min(waiting / kManyDoubts * kGraceOfMany_ns, kMostGrace_ns);
  return waiting != 0 && more_ns <= now_ns && queue_.begin()->first.first <= now_ns - more_ns;
}

void Doubts::settle(const calls::IndexVerdict& verdict, std::uint64_t now_ns) {
  const Map::iterator doubt = find(verdict.index, verdict.key);
  if (doubt == doubts_.end() || doubt->second.dead || doubt->second.sequence != verdict.sequence) return;
  const bool held = doubt->second.due_ns == kHeld_ns;
  if (held && verdict.kind != calls::IndexVerdict::Kind::live) return;
  dequeue(doubt->second);
  behind_settled_ = std::next(doubt);
  switch (verdict.kind) {
    case calls::IndexVerdict::Kind::live:
      erase(doubt);
      break;
    case calls::IndexVerdict::Kind::dead:
      doubt->second.dead = true;
      condemned_.push_back({doubt->first, verdict.sequence});
      break;
    case calls::IndexVerdict::Kind::open:
      enqueue(doubt, now_ns + options_.index_grace_ns);
      break;
  }
}

void Doubts::take(std::uint32_t limit, std::size_t max_bytes, std::uint64_t now_ns, std::string& items) {
  const std::uint64_t again_ns = now_ns + options_.index_lease_ns;
  // No entry is given twice here, however short the lease is.
  std::vector<Map::iterator> given;
  while (due(now_ns) && given.size() < limit && items.size() < max_bytes) {
    const Map::iterator doubt = queue_.begin()->second;
    queue_.erase(queue_.begin());
    append(items, calls::IndexDoubt{doubt->first.index, doubt->second.sequence, doubt->first.key});
    given.push_back(doubt);
  }
  for (const Map::iterator doubt : given) enqueue(doubt, again_ns);
}

std::vector<IndexEntry> Doubts::expired(const Peers& peers, std::uint64_t now_ns, std::size_t limit) {
  if (!condemned_.empty()) aging_.push_back({now_ns, epoch_.raise(), std::exchange(condemned_, {})});
  std::vector<IndexEntry> gone;
  const std::uint64_t age_ns = options_.max_transaction_ns + options_.slack_ns;
  while (!aging_.empty()) {
    Aging& oldest = aging_.front();
    const bool acknowledged =
        options_.collect_by_acknowledgement && oldest.epoch <= peers.acknowledged().versions;
    if (!acknowledged && now_ns - oldest.since_ns < age_ns) break;
    while (!oldest.entries.empty() && gone.size() < limit) {
      Condemned& next = oldest.entries.front();
      // Raised again since, the entry lives under another sequence.
      const auto doubt = doubts_.find(next.entry);
      if (doubt != doubts_.end() && doubt->second.dead && doubt->second.sequence == next.sequence) {
        erase(doubt);
        gone.push_back(std::move(next.entry));
      }
      oldest.entries.pop_front();
    }
    if (!oldest.entries.empty()) break;
    aging_.pop_front();
  }
  return gone;
}

void Doubts::release(std::uint32_t index, std::uint64_t now_ns) {
  for (auto doubt = doubts_.lower_bound({index, {}}); doubt != doubts_.end() && doubt->first.index == index;
       ++doubt) {
    if (doubt->second.dead || doubt->second.due_ns != kHeld_ns) continue;
    dequeue(doubt->second);
    enqueue(doubt, std::max(now_ns, doubt->second.locked_ns));
  }
}

void Doubts::forget(std::uint32_t index) {
  auto doubt = doubts_.lower_bound({index, {}});
  while (doubt != doubts_.end() && doubt->first.index == index) {
    if (!doubt->second.dead) dequeue(doubt->second);
    doubt = erase(doubt);
  }
}

std::size_t Doubts::count(std::uint32_t index) const {
  std::size_t count = 0;
  for (auto doubt = doubts_.lower_bound({index, {}}); doubt != doubts_.end() && doubt->first.index == index;
       ++doubt) {
    ++count;
  }
  return count;
}

}  // namespace namdb::memory
