#include "compute/protocol/occ/optimistic_control.h"

#include "compute/txn/make_control.h"

namespace namdb::protocol {

OptimisticControl::OptimisticControl(TransactionState& transaction)
    : latest_(transaction.worker(), owner_), validator_(transaction, owner_) {
  decide_by({.visibility = &latest_, .validation = &validator_});
}

std::unique_ptr<ConcurrencyControl> make_occ_control(TransactionState& transaction) {
  return std::make_unique<OptimisticControl>(transaction);
}

}  // namespace namdb::protocol
