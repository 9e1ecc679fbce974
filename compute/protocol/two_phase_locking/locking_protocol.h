// The objects that the transactions of one worker share under the protocols of two-phase locking, and those
// protocols as a worker runs them.
#pragma once

#include <memory>

#include "compute/protocol/two_phase_locking/header_guesses.h"
#include "compute/protocol/two_phase_locking/lock_releaser.h"
#include "compute/protocol/two_phase_locking/priority_clock.h"
#include "compute/txn/worker_protocol.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

struct LockerState {
  explicit LockerState(txn::WorkerState& worker)
      : priorities(worker.executor, worker.cluster.timestamps()), releaser(worker.cluster, worker.registry) {}

  PriorityClock priorities;
  HeaderGuesses guesses;
  LockReleaser releaser;
};

class LockingProtocol : public WorkerProtocol {
 public:
  explicit LockingProtocol(txn::WorkerState& worker) : lockers_(worker) {}

  LockerState& lockers() { return lockers_; }
  reactor::Task<void> settle() override { co_await lockers_.releaser.close(); }
  reactor::Task<void> close() override { co_await lockers_.releaser.close(); }

 private:
  LockerState lockers_;
};

// Of one whose transactions share nothing else.
template <typename Control>
class PlainLockingProtocol final : public LockingProtocol {
 public:
  using LockingProtocol::LockingProtocol;

  std::unique_ptr<ConcurrencyControl> control_of(TransactionState& transaction) override {
    return std::make_unique<Control>(transaction, lockers());
  }
};

}  // namespace namdb::protocol
