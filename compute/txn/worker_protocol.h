// A protocol as one worker runs it over one connection: it makes the concurrency control of each
// transaction, and owns the objects that these share. Protocols make theirs by a function each,
// make_<name>_protocol, which the protocol's folder defines.
#pragma once

#include <memory>

#include "common/protocols/protocol_list.h"
#include "common/reactor/task.h"

namespace namdb::txn {
struct WorkerState;
}

namespace namdb::protocol {

class ConcurrencyControl;
class TransactionState;

// Belongs to the worker's executor.
class WorkerProtocol {
 public:
  WorkerProtocol(const WorkerProtocol&) = delete;
  WorkerProtocol& operator=(const WorkerProtocol&) = delete;
  virtual ~WorkerProtocol() = default;

  // The transaction outlives its concurrency control, and this outlives both.
  virtual std::unique_ptr<ConcurrencyControl> control_of(TransactionState& transaction) = 0;
  // Waits for releases of locks that are under way, without new transactions.
  virtual reactor::Task<void> settle() { co_return; }
  // Ends what runs in the background; before the slots are given back, and before destruction.
  virtual reactor::Task<void> close() { co_return; }

 protected:
  WorkerProtocol() = default;
};

// Of a protocol whose transactions share only the worker's state.
template <typename Control>
class UnsharedProtocol final : public WorkerProtocol {
 public:
  std::unique_ptr<ConcurrencyControl> control_of(TransactionState& transaction) override {
    return std::make_unique<Control>(transaction);
  }
};

// The worker's state outlives what is made.
using MakeProtocol = std::unique_ptr<WorkerProtocol> (*)(txn::WorkerState& worker);

#define NAMDB_DECLARE_PROTOCOL(name, ...) \
  std::unique_ptr<WorkerProtocol> make_##name##_protocol(txn::WorkerState& worker);
NAMDB_PROTOCOLS(NAMDB_DECLARE_PROTOCOL)
#undef NAMDB_DECLARE_PROTOCOL

}  // namespace namdb::protocol
