#include "compute/sql/session/planning_queue.h"

#include <atomic>
#include <cstdint>
#include <future>

namespace namdb::sql {

using reactor::Task;

namespace {

// A cancel request of another thread wakes no statement: a waiting statement checks its interrupt at this
// interval.
constexpr std::uint64_t kCheckInterval_ns = kMillisecond_ns;

// Leaves `queued` once: the planning thread begins the work, or the session abandons it.
enum class Progress : std::uint8_t { queued, begun, abandoned };

// Lives in the waiting coroutine. The planning thread uses it only after it has begun the work.
struct Job {
  std::function<void()> work;
  reactor::Event done;
  bool finished = false;
};

bool advance(std::atomic<Progress>& progress, Progress next) {
  Progress expected = Progress::queued;
  return progress.compare_exchange_strong(expected, next, std::memory_order_acq_rel);
}

}  // namespace

PlanningQueue::PlanningQueue(reactor::Executor& executor, Post to_thread, Post to_worker)
    : executor_(executor), to_thread_(std::move(to_thread)), to_worker_(std::move(to_worker)) {}

PlanningQueue::~PlanningQueue() {
  // Functions run in order: when this one runs, the thread has left all calls of `to_worker` before it.
  const auto reached = std::make_shared<std::promise<void>>();
  to_thread_([reached] { reached->set_value(); });
  reached->get_future().wait();
}

Task<Status> PlanningQueue::run(std::function<void()> work, const txn::Interrupt& interrupt) {
  Job job{std::move(work), reactor::Event(executor_)};
  const auto progress = std::make_shared<std::atomic<Progress>>(Progress::queued);
  to_thread_([this, progress, job = &job] {
    if (!advance(*progress, Progress::begun)) return;
    job->work();
    to_worker_([job] {
      job->finished = true;
      job->done.notify_all();
    });
  });
  while (!job.finished) {
    const bool notified = co_await job.done.wait_until(executor_.now_ns() + kCheckInterval_ns);
    if (notified) continue;
    Status status = interrupt.check();
    if (status.ok()) continue;
    if (advance(*progress, Progress::abandoned)) co_return status;
    while (!job.finished) co_await job.done.wait();  // it has begun
  }
  co_return Status();
}

}  // namespace namdb::sql
