// Soft time (DrTM §7.1): memory server 0's clock, as bounds that this compute server has measured. A reading
// of that clock comes with a welcome or a heartbeat: it was taken between the request and the reply. From
// then on both clocks run, and may drift from each other by kDrift_ppm. The bounds are the intersection of
// what all readings say; they are apart by a round trip and the drift since. In DrTM's words the time is in
// the middle, and DELTA is half of the distance.
//
// Times are nanoseconds of memory server 0's clock. Whether a moment is certainly over, and whether it is
// certainly not over yet, are questions to different bounds. Not thread-safe; a connection's own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/clock.h"

namespace namdb::txn {

struct TimeBounds {
  std::uint64_t earliest_ns = 0;
  std::uint64_t latest_ns = 0;

  std::uint64_t width_ns() const { return latest_ns - earliest_ns; }
  // EXPIRED and VALID of DrTM's Figure 9: before now - DELTA, and after now + DELTA.
  bool after(std::uint64_t moment_ns) const { return earliest_ns > moment_ns; }
  bool before(std::uint64_t moment_ns) const { return latest_ns < moment_ns; }
};

class SoftTime {
 public:
  // Twice the rate by which an operating system may adjust each of the two clocks, and the inaccuracy of a
  // quartz.
  static constexpr std::uint64_t kDrift_ppm = 2'500;

  explicit SoftTime(const Clock& clock) : clock_(clock) {}

  // Nothing has been read yet: the bounds mean nothing.
  bool unknown() const { return unknown_; }
  // Reads the clock anew: a time that is a little old would pass for a moment before a lease's end.
  TimeBounds now() const { return at(clock_.fresh_now_ns()); }

  // Memory server 0's clock said `server_ns` at some moment from `sent_ns` of this one's until now.
  void follow(std::uint64_t server_ns, std::uint64_t sent_ns) {
    const std::uint64_t received_ns = clock_.fresh_now_ns();
    const std::uint64_t trip_ns = received_ns - sent_ns;
    TimeBounds bounds{server_ns, server_ns + trip_ns + drift_ns(trip_ns)};
    if (!unknown_) {
      const TimeBounds known = at(received_ns);
      const TimeBounds both{std::max(bounds.earliest_ns, known.earliest_ns),
                            std::min(bounds.latest_ns, known.latest_ns)};
      // Readings that contradict each other are of two clocks: the server was started again.
      if (both.earliest_ns <= both.latest_ns) bounds = both;
    }
    bounds_ = bounds;
    read_ns_ = received_ns;
    unknown_ = false;
  }

  // All memory servers have been connected to: all that was done over earlier connections was done by now.
  void connected() { connected_ns_ = now().latest_ns; }
  std::uint64_t connected_ns() const { return connected_ns_; }

 private:
  static std::uint64_t drift_ns(std::uint64_t passed_ns) {
    return passed_ns / 1'000'000 * kDrift_ppm + (passed_ns % 1'000'000 * kDrift_ppm + 999'999) / 1'000'000;
  }
  TimeBounds at(std::uint64_t own_ns) const {
    const std::uint64_t passed_ns = own_ns - read_ns_;
    return {bounds_.earliest_ns + passed_ns - drift_ns(passed_ns),
            bounds_.latest_ns + passed_ns + drift_ns(passed_ns)};
  }

  const Clock& clock_;
  bool unknown_ = true;
  TimeBounds bounds_;
  std::uint64_t read_ns_ = 0;  // of the own clock, when the bounds were as they are
  std::uint64_t connected_ns_ = 0;
};

}  // namespace namdb::txn
