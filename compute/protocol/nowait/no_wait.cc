#include "compute/protocol/nowait/no_wait.h"

namespace namdb::protocol {

using layout::HeaderWord;

ReadDecision NoWait::meet_lock(HeaderWord lock) {
  // The memory server holds one for a moment, and does not wait meanwhile.
  return lock.stamp().slot == layout::kCollectorSlot ? ReadDecision::locked_by_other : ReadDecision::conflict;
}

std::unique_ptr<WorkerProtocol> make_nowait_protocol(txn::WorkerState& worker) {
  return std::make_unique<PlainLockingProtocol<NoWait>>(worker);
}

}  // namespace namdb::protocol
