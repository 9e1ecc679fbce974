// The one source of time. Durations only are ever compared between machines. The reactor implements it
// on CLOCK_BOOTTIME, the simulator on virtual time; nothing else may read a clock of the operating system.
#pragma once

#include <cstdint>

namespace namdb {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since an arbitrary start; never goes back. Cheap: may be cached for a turn of the loop.
  virtual std::uint64_t now_ns() const = 0;
  // The same, never cached: for decisions that need the present time (the age of a transaction).
  virtual std::uint64_t fresh_now_ns() const { return now_ns(); }
};

inline constexpr std::uint64_t kMicrosecond_ns = 1'000;
inline constexpr std::uint64_t kMillisecond_ns = 1'000'000;
inline constexpr std::uint64_t kSecond_ns = 1'000'000'000;

}  // namespace namdb
