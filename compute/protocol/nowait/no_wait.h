// NOWAIT, as RCC runs it (its §4.2): two-phase locking (two_phase_locking.h) where a transaction that meets a
// lock gives way.
//
// add_lock() of the base class posts the lock. Where the stage `lock` runs two-sided, the memory server takes
// it, in memory/calls/batch_call.cc: where `read` does so too, lock_records() there also reads the record.
#pragma once

#include "compute/protocol/two_phase_locking/two_phase_locking.h"

namespace namdb::protocol {

class NoWait final : public TwoPhaseLocking {
 public:
  using TwoPhaseLocking::TwoPhaseLocking;

  ReadDecision meet_lock(layout::HeaderWord lock) override;
};

}  // namespace namdb::protocol
