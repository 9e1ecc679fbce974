#include "compute/protocol/occ/optimistic_control.h"

#include "compute/txn/worker_protocol.h"

namespace namdb::protocol {

OptimisticControl::OptimisticControl(TransactionState& transaction)
    : latest_(transaction.worker(), owner_), validator_(transaction, owner_) {
  decide_by({.visibility = &latest_, .validation = &validator_});
}

std::unique_ptr<WorkerProtocol> make_occ_protocol(txn::WorkerState& /*worker*/) {
  return std::make_unique<UnsharedProtocol<OptimisticControl>>();
}

}  // namespace namdb::protocol
