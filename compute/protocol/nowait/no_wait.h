// NOWAIT, as RCC runs it (its §4.2): two-phase locking (two_phase_locking.h) where a transaction that meets a
// lock gives way.
#pragma once

#include "compute/protocol/two_phase_locking/two_phase_locking.h"

namespace namdb::protocol {

class NoWait final : public TwoPhaseLocking {
 public:
  using TwoPhaseLocking::TwoPhaseLocking;

  ReadDecision meet_lock(layout::HeaderWord lock) override;
};

}  // namespace namdb::protocol
