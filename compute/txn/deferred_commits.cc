#include "compute/txn/deferred_commits.h"

#include <string>

namespace namdb::txn {
namespace {

Status lost(std::size_t undone, std::size_t unknown) {
  std::string counts;
  if (undone != 0) counts = std::to_string(undone) + (undone == 1 ? " is lost" : " are lost");
  if (unknown != 0) counts += (counts.empty() ? "" : ", ") + std::to_string(unknown) + " may be lost";
  return Status(
      ErrorCode::commits_lost,
      "the connection to a memory server was lost before commits of this session were on disk: " + counts,
      "they were answered early, as synchronous_commit = off asks; look which of their changes are "
      "there");
}

}  // namespace

reactor::Task<void> DeferredCommits::wait_but_for(std::uint32_t slot) {
  while (const std::shared_ptr<DeferredCommit>* const first = first_but_for(slot)) {
    const std::shared_ptr<DeferredCommit> commit = *first;
    while (!commit->ended) co_await commit->changed.wait();
  }
}

reactor::Task<Status> DeferredCommits::wait_until_visible(CommitOutcomes& outcomes,
                                                          const Transaction& asker) {
  co_await wait_but_for(kNoSlot);
  std::size_t undone = 0;
  std::size_t unknown = 0;
  const std::vector<std::shared_ptr<DeferredCommit>> commits = commits_;
  for (const std::shared_ptr<DeferredCommit>& commit : commits) {
    if (!commit->cut_off) continue;
    // Once one outcome is unknown, there is no further waiting.
    CommitOutcome outcome = CommitOutcome::unknown;
    if (unknown == 0) outcome = co_await outcomes.find(commit->id, &asker);
    if (outcome == CommitOutcome::committed) {
      commit->end(/*visible=*/true);
      continue;
    }
    Status interrupted = asker.check_interrupt();
    if (outcome == CommitOutcome::unknown && !interrupted.ok()) co_return interrupted;
    ++(outcome == CommitOutcome::undone ? undone : unknown);
  }
  if (undone + unknown == 0) co_return Status();
  std::erase_if(commits_, [](const auto& commit) { return commit->cut_off; });
  co_return lost(undone, unknown);
}

}  // namespace namdb::txn
