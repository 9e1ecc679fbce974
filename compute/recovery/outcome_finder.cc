#include "compute/recovery/outcome_finder.h"

#include <algorithm>

#include "compute/api/transaction.h"
#include "proto/control.pb.h"

namespace namdb::txn {
namespace {

constexpr std::uint64_t kFirstQuestionPause_ns = kMillisecond_ns;
constexpr std::uint64_t kLongestQuestionPause_ns = 100 * kMillisecond_ns;

}  // namespace

reactor::Task<CommitOutcome> OutcomeFinder::find(CommitId commit, const Transaction* asker) {
  control::CommitOutcomeRequest request;
  request.set_slot(commit.stamp.slot);
  request.set_counter(commit.stamp.counter);
  request.set_epoch(commit.epoch);
  request.set_database_id(commit.database_id);
  const std::uint64_t deadline_ns = executor_.now_ns() + patience_ns_;
  std::uint64_t pause_ns = kFirstQuestionPause_ns;
  while (!stopping_ && executor_.now_ns() < deadline_ns) {
    const std::shared_ptr<Cluster> cluster = current_();
    control::CommitOutcomeReply reply;
    reply.set_outcome(control::OUTCOME_UNDECIDED);
    if (cluster != nullptr && !cluster->failed()) {
      // An error is that of the connection; the worker makes another.
      const Status status = co_await cluster->call(0, control::COMMIT_OUTCOME, request, &reply);
      if (!status.ok()) reply.set_outcome(control::OUTCOME_UNDECIDED);
    }
    if (reply.outcome() == control::OUTCOME_COMMITTED) co_return CommitOutcome::committed;
    if (reply.outcome() == control::OUTCOME_UNDONE) co_return CommitOutcome::undone;
    if (reply.outcome() != control::OUTCOME_UNDECIDED) break;
    if (asker != nullptr && !asker->check_interrupt().ok()) break;
    co_await stopped_.wait_until(std::min(deadline_ns, executor_.now_ns() + pause_ns));
    pause_ns = std::min(2 * pause_ns, kLongestQuestionPause_ns);
  }
  co_return CommitOutcome::unknown;
}

void OutcomeFinder::stop() {
  stopping_ = true;
  stopped_.notify_all();
}

}  // namespace namdb::txn
