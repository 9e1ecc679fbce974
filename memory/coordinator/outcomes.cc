#include "memory/coordinator/outcomes.h"

#include <utility>

namespace namdb::memory {

void Outcomes::closed(std::uint32_t slot, Verdicts verdicts, std::uint64_t now_ns) {
  while (!oldest_.empty() && now_ns - oldest_.front().closed_ns >= kKept_ns) {
    slots_.erase(oldest_.front().slot);
    oldest_.pop_front();
  }
  if (slots_.insert_or_assign(slot, std::move(verdicts)).second) oldest_.push_back({slot, now_ns});
}

CommitOutcome Outcomes::of(layout::Stamp commit, bool cut_off, std::uint64_t now_ns) const {
  const auto found = slots_.find(commit.slot);
  if (found == slots_.end()) {
    const bool known = cut_off && opened_ns_ && now_ns - *opened_ns_ < kKept_ns;
    return known ? CommitOutcome::undone : CommitOutcome::unknown;
  }
  const Verdicts& verdicts = found->second;
  if (commit.counter <= verdicts.through || verdicts.committed.contains(commit.counter))
    return CommitOutcome::committed;
  return verdicts.complete ? CommitOutcome::undone : CommitOutcome::unknown;
}

}  // namespace namdb::memory
