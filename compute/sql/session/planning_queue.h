// A worker's access to the planning thread: one thread of the compute server, beside the workers, that parses
// and plans long statements. (libpg_query cannot be interrupted; the worker's other sessions would wait.) The
// thread does one piece of work after the other, in the order in which they are posted.
//
// Belongs to its worker's executor. It knows the two threads only by the functions that post to them.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "compute/api/transaction.h"

namespace namdb::sql {

class PlanningQueue {
 public:
  // Has the function called on a thread, once, after the functions that this caller has posted before. Any
  // thread.
  using Post = std::function<void(std::function<void()>)>;
  // `to_thread` posts to the planning thread, which runs as long as this object lives; `to_worker` posts to
  // the executor's thread.
  PlanningQueue(reactor::Executor& executor, Post to_thread, Post to_worker);
  PlanningQueue(const PlanningQueue&) = delete;
  PlanningQueue& operator=(const PlanningQueue&) = delete;
  // Blocks until the planning thread has returned from its last call of `to_worker`, after which the worker's
  // mailbox may be destroyed. No run() is under way.
  ~PlanningQueue();

  // Does the work on the planning thread, and resumes the caller on its own executor when the work is done.
  // Error: `interrupt` has ended the wait in the queue; the work will never begin. Work that has begun is
  // waited for.
  reactor::Task<Status> run(std::function<void()> work, const txn::Interrupt& interrupt);

  // Destroys a large value on the planning thread, without waiting for that.
  template <typename Value>
  void destroy(Value value) {
    auto owned = std::make_shared<Value>(std::move(value));
    to_thread_([owned = std::move(owned)]() mutable { owned.reset(); });
  }

 private:
  reactor::Executor& executor_;
  Post to_thread_;
  Post to_worker_;
};

}  // namespace namdb::sql
