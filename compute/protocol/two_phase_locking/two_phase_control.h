// Two-phase locking as a protocol: the locks of two_phase_locking.h, and what is read without them validated
// while they are held.
#pragma once

#include "compute/commit/read_validator.h"
#include "compute/protocol/two_phase_locking/two_phase_locking.h"
#include "compute/txn/concurrency_control.h"
#include "compute/txn/latest_committed.h"

namespace namdb::protocol {

class TwoPhaseControl : public ConcurrencyControl, public TwoPhaseLocking {
 public:
  explicit TwoPhaseControl(TransactionState& transaction, bool has_waiters = false)
      : TwoPhaseLocking(transaction, has_waiters),
        latest_(transaction.worker(), *this),
        validator_(transaction, *this) {
    decide_by({.visibility = &latest_, .locking = this, .validation = &validator_});
  }

  // --- ConcurrencyControl ---
  Status may_write(const Access& /*access*/) const override { return {}; }
  layout::Stamp lock_stamp(layout::Stamp /*stamp*/) override { return own_stamp(); }
  bool waits_for_publish() const override { return false; }
  bool end(std::uint64_t generation, const Status& outcome, bool /*wrote*/) override {
    return release(generation, outcome);
  }

 private:
  LatestCommitted latest_;
  ReadValidator validator_;
};

}  // namespace namdb::protocol
