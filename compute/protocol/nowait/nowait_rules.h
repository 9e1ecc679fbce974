// NOWAIT, as RCC runs it (its §4.2): two-phase locking (locking_rules.h) where a transaction that meets a
// lock gives way.
#pragma once

#include "compute/protocol/two_phase_locking/locking_rules.h"

namespace namdb::protocol {

class NoWaitRules : public LockingRules {
 public:
  using LockingRules::LockingRules;

 protected:
  Judgement meet_lock(layout::HeaderWord lock) override;
};

}  // namespace namdb::protocol
