// Priorities of transactions that wait for each other by age (wait-die): 32 bits in units of 16 us. Every
// worker advances its clock to the greatest priority that it meets, so that no worker's clock stays ahead of
// the others. However long their machines have run, all workers' clocks begin within a second of memory
// server 0's clock: without a common origin, three transactions could each be older than the next, and wait
// for each other. The difference is whole seconds, so that workers of one machine draw priorities in the
// order of its clock. Together with the slot a priority is unique, and ordered, among transactions that live
// within 9 hours of each other; a transaction ends after E.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/layout/age.h"
#include "compute/cluster/timestamp_clock.h"

namespace namdb::protocol {

class PriorityClock {
 public:
  static constexpr std::uint64_t kTick_ns = 16'000;

  // Both outlive this.
  PriorityClock(const Clock& clock, const txn::TimestampClock& server) : clock_(clock), server_(server) {}

  // Never 0, never one that this gave before (within the clock's round).
  std::uint32_t next() {
    // Compared in 64 bits: a worker may draw its first priority, or the next one, hours after the last.
    last_ = std::max(reading(), last_ + 1);
    if (static_cast<std::uint32_t>(last_) == 0) ++last_;
    return static_cast<std::uint32_t>(last_);
  }
  // Takes note of another transaction's priority.
  void meet(std::uint32_t priority) {
    const auto now = static_cast<std::uint32_t>(reading());
    if (layout::later(priority, now)) offset_ += priority - now;
  }

 private:
  // In ticks; its low 32 bits are the priority.
  std::uint64_t reading() const {
    const auto ahead_ns = static_cast<std::int64_t>(server_.offset_ns());
    const std::int64_t second_ns = kSecond_ns;
    const std::int64_t seconds = (ahead_ns + (ahead_ns < 0 ? -second_ns : second_ns) / 2) / second_ns;
    const std::uint64_t now_ns = clock_.now_ns() + static_cast<std::uint64_t>(seconds * second_ns);
    return now_ns / kTick_ns + offset_;
  }

  const Clock& clock_;
  const txn::TimestampClock& server_;
  std::uint64_t offset_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace namdb::protocol
