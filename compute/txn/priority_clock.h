// Priorities of transactions that wait for each other by age (wait-die): 32 bits in units of 16 us, of a
// clock that all workers adjust to the greatest priority that they meet, so that none stays ahead of the
// others. Together with the slot a priority is unique, and ordered, among transactions that live within 9
// hours of each other; a transaction ends after E.
#pragma once

#include <cstdint>

#include "common/base/clock.h"
#include "common/layout/age.h"

namespace namdb::txn {

class PriorityClock {
 public:
  static constexpr std::uint64_t kTick_ns = 16'000;

  explicit PriorityClock(const Clock& clock) : clock_(clock) {}

  // Never 0, never one that this gave before (within the clock's round).
  std::uint32_t next() {
    const std::uint32_t now = reading();
    last_ = layout::later(now, last_) ? now : last_ + 1;
    if (last_ == 0) last_ = 1;
    return last_;
  }
  // Somebody else's.
  void meet(std::uint32_t priority) {
    const std::uint32_t now = reading();
    if (layout::later(priority, now)) offset_ += priority - now;
  }

 private:
  std::uint32_t reading() const { return static_cast<std::uint32_t>(clock_.now_ns() / kTick_ns) + offset_; }

  const Clock& clock_;
  std::uint32_t offset_ = 0;
  std::uint32_t last_ = 0;
};

}  // namespace namdb::txn
