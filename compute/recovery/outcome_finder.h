// Finds the outcomes of commits whose connection was lost: asks memory server 0, over the worker's next
// connection, until the decider has closed the commit's slot (memory/coordinator/outcomes.h). So a client
// gets the outcome a moment later, instead of the error unknown_outcome.
//
// Lives as long as the worker, across its connections; belongs to its executor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "common/reactor/executor.h"
#include "compute/cluster/cluster.h"
#include "compute/txn/commit_outcomes.h"

namespace namdb::txn {

class OutcomeFinder final : public CommitOutcomes {
 public:
  // The connection that the worker has now; null: none. It stays alive as long as it is held.
  using Current = std::function<std::shared_ptr<Cluster>()>;

  OutcomeFinder(reactor::Executor& executor, Current current, std::uint64_t patience_ns)
      : executor_(executor), current_(std::move(current)), patience_ns_(patience_ns), stopped_(executor) {}

  reactor::Task<CommitOutcome> find(CommitId commit, const Transaction* asker) override;
  // Nothing waits any longer.
  void stop();

 private:
  reactor::Executor& executor_;
  Current current_;
  std::uint64_t patience_ns_;
  bool stopping_ = false;
  reactor::Event stopped_;
};

}  // namespace namdb::txn
