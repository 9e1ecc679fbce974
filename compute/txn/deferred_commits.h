// The commits of a session that were answered before they were on disk: those at level `memory`, in a
// database that is `flushed` (docs/sql.md). Nothing of such a commit is installed before its entries are
// durable, so nobody reads what a loss of power may undo. Install and publish follow in the background
// (compute/commit/passive_installs.h).
//
// The session itself must not miss what it has written:
//
//   - Its transactions read when its earlier commits are visible, or, where the protocol can tell their
//     versions (ConcurrencyControl::reads_deferred), wait only where they meet one.
//   - A later commit becomes visible behind them: one that uses another slot waits for them.
//   - A commit that is answered when it is durable is answered behind them.
//
// If the connection is lost before such a commit is durable, the commit may be lost, too. The session is told
// so once, by an error of the next transaction that reads or commits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/error.h"
#include "common/layout/stamp.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::txn {

struct DeferredCommit {
  DeferredCommit(reactor::Executor& executor, layout::Stamp commit_stamp)
      : stamp(commit_stamp), changed(executor) {}
  // Visible to all transactions that begin now, or lost with its connection.
  void end(bool visible, std::uint64_t now_ns) {
    ended = true;
    lost = !visible;
    ended_ns = now_ns;
    changed.notify_all();
  }

  layout::Stamp stamp;
  bool ended = false;
  bool lost = false;
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
  // Some are still under way.
  bool under_way() const {
    return std::ranges::any_of(commits_, [](const auto& commit) { return !commit->ended; });
  }
  // Waits until none is, or none of another slot than that one.
  reactor::Task<void> wait() { return wait_but_for(kNoSlot); }
  reactor::Task<void> wait_but_for(std::uint32_t slot);
  // Some of another slot are under way.
  bool under_way_but_for(std::uint32_t slot) const {
    return std::ranges::any_of(
        commits_, [slot](const auto& commit) { return !commit->ended && commit->stamp.slot != slot; });
  }
  // Forgets those that were lost. Error connection_failure if there were any.
  Status take_lost() {
    const bool any = std::erase_if(commits_, [](const auto& commit) { return commit->lost; }) != 0;
    if (!any) return Status();
    return Status(ErrorCode::connection_failure,
                  "the connection to a memory server was lost before commits of this session were on disk",
                  "they were answered at level memory: look whether their changes are there");
  }
  // Forgets those that `shown` says are known to all snapshots from now on; the stamps of the others.
  template <typename Shown>
  std::vector<layout::Stamp> forget(const Shown& shown) {
    std::erase_if(commits_, [&](const auto& commit) { return !commit->lost && shown(*commit); });
    std::vector<layout::Stamp> stamps;
    for (const auto& commit : commits_) stamps.push_back(commit->stamp);
    return stamps;
  }
  // Where a transaction sees all that has ended.
  void forget_ended() {
    std::erase_if(commits_, [](const auto& commit) { return commit->ended && !commit->lost; });
  }

 private:
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
  std::vector<std::shared_ptr<DeferredCommit>> commits_;
};

inline reactor::Task<void> DeferredCommits::wait_but_for(std::uint32_t slot) {
  while (under_way_but_for(slot)) {
    const auto found = std::ranges::find_if(
        commits_, [slot](const auto& commit) { return !commit->ended && commit->stamp.slot != slot; });
    const std::shared_ptr<DeferredCommit> commit = *found;
    while (!commit->ended) co_await commit->changed.wait();
  }
}

}  // namespace namdb::txn
