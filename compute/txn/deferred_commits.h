// The commits of a session that were answered before they were on disk: those at level `memory`, in a
// database that is `flushed` (docs/sql.md). Nothing of such a commit is installed before its entries are
// durable, so no transaction reads a version that a loss of power may undo. Install and publish follow in the
// background (compute/txn/passive_installs.h).
//
// The session itself must not miss what it has written:
//
//   - Its transactions read when its earlier commits are visible, or, where the protocol can tell their
//     versions (Visibility::may_read_behind), wait only where they meet one.
//   - A later commit becomes visible behind them: one that uses another slot waits for them.
//   - A commit that is to be answered when it is durable begins behind them. So it is never there without
//     them.
//
// A commit whose connection breaks before its entries are known to be durable is *cut off*: memory server 0
// decides its outcome (commit_outcomes.h). The session's next transaction asks for the outcome before it
// reads or commits. If the cut-off commit was committed, the transaction goes on. If it was not, or if the
// outcome stays unknown, the transaction ends with an error of its own (commits_lost), once for the session.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/error.h"
#include "common/layout/stamp.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "compute/api/transaction.h"
#include "compute/txn/commit_outcomes.h"

namespace namdb::txn {

struct DeferredCommit {
  DeferredCommit(reactor::Executor& event_executor, CommitId commit)
      : executor(event_executor), id(commit), changed(event_executor) {}
  // Visible to all transactions that begin now, or cut off.
  void end(bool visible) {
    ended = true;
    cut_off = !visible;
    ended_ns = executor.fresh_now_ns();
    changed.notify_all();
  }

  reactor::Executor& executor;
  CommitId id;
  bool ended = false;
  bool cut_off = false;
  std::uint64_t ended_ns = 0;
  reactor::Event changed;
};

// Belongs to the session. Tasks in the background share its commits.
class DeferredCommits {
 public:
  // More are not deferred, so that looking at all of them is cheap.
  static constexpr std::size_t kMost = 64;

  bool has_room() const { return commits_.size() < kMost; }
  void add(std::shared_ptr<DeferredCommit> commit) { commits_.push_back(std::move(commit)); }
  // Some of another slot are under way.
  bool under_way_but_for(std::uint32_t slot) const { return first_but_for(slot) != nullptr; }
  // Waits until none is.
  reactor::Task<void> wait_but_for(std::uint32_t slot);
  // None is under way, and none is cut off.
  bool all_visible() const {
    return std::ranges::all_of(commits_,
                               [](const auto& commit) { return commit->ended && !commit->cut_off; });
  }
  bool any_cut_off() const {
    return std::ranges::any_of(commits_, [](const auto& commit) { return commit->cut_off; });
  }
  // Waits until it is so: all are visible, and those that are not there are forgotten.
  // Error connection_failure if there were such. The asker's interrupt ends the wait with its error.
  reactor::Task<Status> wait_until_visible(CommitOutcomes& outcomes, const Transaction& asker);
  // Forgets those that `shown` says are known to all snapshots from now on; the stamps of the others.
  template <typename Shown>
  std::vector<layout::Stamp> forget(const Shown& shown) {
    std::erase_if(commits_, [&](const auto& commit) { return !commit->cut_off && shown(*commit); });
    std::vector<layout::Stamp> stamps;
    for (const auto& commit : commits_) stamps.push_back(commit->id.stamp);
    return stamps;
  }
  // Where a transaction sees all that has ended.
  void forget_ended() {
    std::erase_if(commits_, [](const auto& commit) { return commit->ended && !commit->cut_off; });
  }

 private:
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
  const std::shared_ptr<DeferredCommit>* first_but_for(std::uint32_t slot) const {
    const auto found = std::ranges::find_if(
        commits_, [slot](const auto& commit) { return !commit->ended && commit->id.stamp.slot != slot; });
    return found == commits_.end() ? nullptr : &*found;
  }
  std::vector<std::shared_ptr<DeferredCommit>> commits_;
};

}  // namespace namdb::txn
