// NOWAIT, as RCC runs it (its §4.2): two-phase locking (two_phase_locking.h) where a transaction that meets a
// lock gives way.
#pragma once

#include "compute/protocol/two_phase_locking/two_phase_control.h"

namespace namdb::protocol {

class NoWait final : public TwoPhaseControl {
 public:
  using TwoPhaseControl::TwoPhaseControl;

  ReadDecision meet_lock(layout::HeaderWord lock) override;
};

}  // namespace namdb::protocol
