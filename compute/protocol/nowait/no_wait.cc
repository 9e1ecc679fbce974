#include "compute/protocol/nowait/no_wait.h"

#include "compute/txn/make_control.h"

namespace namdb::protocol {

using layout::HeaderWord;

ReadDecision NoWait::meet_lock(HeaderWord lock) {
  // The memory server holds one for a moment, and does not wait meanwhile.
  return lock.stamp().slot == layout::kCollectorSlot ? ReadDecision::locked_by_other : ReadDecision::conflict;
}

std::unique_ptr<ConcurrencyControl> make_nowait_control(TransactionState& transaction) {
  return std::make_unique<NoWait>(transaction);
}

}  // namespace namdb::protocol
