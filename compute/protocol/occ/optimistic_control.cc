#include "compute/protocol/occ/optimistic_control.h"

#include "compute/txn/make_control.h"
#include "compute/txn/slot_keeper.h"

namespace namdb::protocol {

OptimisticControl::OptimisticControl(TransactionState& transaction)
    : worker_(transaction.worker()), latest_(worker_, owner_), validator_(transaction, owner_) {
  decide_by({.visibility = &latest_, .validation = &validator_});
}

reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> OptimisticControl::commit_slot() {
  return worker_.slot_keeper.acquire();
}

std::unique_ptr<ConcurrencyControl> make_occ_control(TransactionState& transaction) {
  return std::make_unique<OptimisticControl>(transaction);
}

}  // namespace namdb::protocol
