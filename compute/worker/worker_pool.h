// All workers of a compute server: the first on the thread that makes the pool, each other one on a thread of
// its own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/worker/worker_thread.h"

namespace namdb::compute {

class WorkerPool {
 public:
  // Makes as many workers as the flags say and connects them, one after another. Blocks. After an error there
  // are none. `shared` outlives the pool.
  static Result<std::unique_ptr<WorkerPool>> start(SharedState& shared);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  // Stops them if they have not run.
  ~WorkerPool();

  // Serves until stop_soon(), and returns when every worker has stopped. `also` runs beside the first. Once,
  // on the thread that made the pool.
  void run(std::function<reactor::Task<void>()> also);
  // Once, from any thread; the pool outlives the call.
  void stop_soon();

  // In the order of their numbers; fixed.
  const std::vector<WorkerThread*>& workers() const { return workers_; }

 private:
  struct Other;
  WorkerPool();
  static void run_other(SharedState& shared, std::uint32_t index, Other& self);

  std::unique_ptr<WorkerThread> first_;
  std::vector<std::unique_ptr<Other>> others_;
  std::vector<WorkerThread*> workers_;
  bool ran_ = false;
};

}  // namespace namdb::compute
