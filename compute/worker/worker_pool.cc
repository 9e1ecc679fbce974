#include "compute/worker/worker_pool.h"

#include <future>
#include <semaphore>
#include <thread>
#include <utility>

#include "common/base/signal_stack.h"

namespace namdb::compute {

struct WorkerPool::Other {
  std::promise<Result<WorkerThread*>> ready;
  // The thread that told it to stop no longer uses it: a mailbox is in use until post() has returned.
  std::binary_semaphore released{0};
  std::thread thread;
};

WorkerPool::WorkerPool() = default;

WorkerPool::~WorkerPool() {
  if (ran_ || !first_) return;
  stop_soon();
  run({});
}

void WorkerPool::run_other(SharedState& shared, std::uint32_t index, Other& self) {
  const SignalStack signal_stack;
  auto worker = WorkerThread::create(shared, index);
  Status status = worker.ok() ? (*worker)->connect() : worker.status();
  if (!status.ok()) return self.ready.set_value(Result<WorkerThread*>(std::move(status)));
  self.ready.set_value(Result<WorkerThread*>(worker->get()));
  (*worker)->run({});
  self.released.acquire();
}

Result<std::unique_ptr<WorkerPool>> WorkerPool::start(SharedState& shared) {
  std::unique_ptr<WorkerPool> pool(new WorkerPool());
  auto first = WorkerThread::create(shared, 0);
  if (!first.ok()) return first.status();
  if (Status status = (*first)->connect(); !status.ok()) return status;
  pool->first_ = std::move(first).value();
  pool->workers_.push_back(pool->first_.get());
  for (std::uint32_t index = 1; index < shared.flags.workers; ++index) {
    auto other = std::make_unique<Other>();
    auto ready = other->ready.get_future();
    other->thread = std::thread(run_other, std::ref(shared), index, std::ref(*other));
    Result<WorkerThread*> made = ready.get();
    if (!made.ok()) {
      other->thread.join();
      return made.status();
    }
    pool->workers_.push_back(*made);
    pool->others_.push_back(std::move(other));
  }
  return pool;
}

void WorkerPool::run(std::function<reactor::Task<void>()> also) {
  ran_ = true;
  first_->run(std::move(also));
  for (const auto& other : others_) other->thread.join();
}

void WorkerPool::stop_soon() {
  for (std::size_t i = 0; i < others_.size(); ++i) {
    workers_[i + 1]->stop_soon();
    others_[i]->released.release();
  }
  first_->stop_soon();
}

}  // namespace namdb::compute
