// A worker's part of the engine that is about execution slots: those of its current connection, and the fate
// of others. The contracts of the functions are those of compute/api/engine.h. Belongs to the worker's
// executor.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/worker/current_connection.h"

namespace namdb::compute {

class WorkerSlots {
 public:
  // Outlives this.
  explicit WorkerSlots(const CurrentConnection& current) : current_(current) {}

  reactor::Task<Result<std::uint32_t>> of_commits();
  reactor::Task<Result<bool>> has_ended(std::uint32_t slot);
  reactor::Task<Result<std::shared_ptr<const txn::SlotLease>>> lease();

 private:
  const CurrentConnection& current_;
};

}  // namespace namdb::compute
