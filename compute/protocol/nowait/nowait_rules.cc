#include "compute/protocol/nowait/nowait_rules.h"

#include "compute/txn/make_rules.h"

namespace namdb::protocol {

using layout::HeaderWord;

Judgement NoWaitRules::meet_lock(HeaderWord lock) {
  // The memory server holds one for a moment, and waits for nobody.
  return lock.stamp().slot == layout::kCollectorSlot ? Judgement::held : Judgement::conflict;
}

std::unique_ptr<Rules> make_nowait_rules(StagedTransaction& transaction) {
  return std::make_unique<NoWaitRules>(transaction);
}

}  // namespace namdb::protocol
