// The worker on whose connection to the cluster a schema change runs. Belongs to the worker's executor, and
// is destroyed after everything that schema changes began with it.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/commit/engine_transaction.h"
#include "compute/txn/worker_state.h"

namespace namdb::schema {

class SchemaWorker {
 public:
  virtual ~SchemaWorker() = default;

  // The parts that the connection's transactions share.
  virtual txn::WorkerState& worker_state() = 0;
  // A fresh transaction; destroyed before `session`.
  virtual std::unique_ptr<protocol::EngineTransaction> begin(protocol::SessionState& session) = 0;
  // Waits before attempt `attempt` (1 = first retry), as Engine::backoff().
  virtual reactor::Task<void> back_off(std::uint32_t attempt) = 0;
  // Others wait until this worker has acknowledged a change: it sends its next heartbeat at once.
  virtual void hasten() = 0;
  // True once the worker shuts down: long work then ends with admin_shutdown.
  virtual bool stopping() const = 0;
};

// Ends long work once the worker stops.
inline Status shutting_down() {
  return Status(ErrorCode::admin_shutdown, "the compute server is shutting down");
}

// A step of long work takes one part in so many of a transaction's time in one snapshot.
inline constexpr std::uint64_t kSnapshotShare = 4;

}  // namespace namdb::schema
