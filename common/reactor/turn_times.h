// How long a reactor's turns take. While one runs, all other clients of its thread wait: a turn that takes
// long is one piece of work that should have given the others their turn.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/clock.h"
#include "common/reactor/poll_source.h"

namespace namdb::reactor {

// Threads: one thread adds; any thread reads.
class TurnTimes {
 public:
  static constexpr std::uint64_t kLong_ns = 50 * kMillisecond_ns;

  void add(std::uint64_t turn_ns) {
    // The one writer needs no atomic operation that reads and writes.
    if (turn_ns > longest_ns()) longest_ns_.store(turn_ns, std::memory_order_relaxed);
    if (turn_ns > kLong_ns) long_turns_.store(long_turns() + 1, std::memory_order_relaxed);
  }

  // The number of turns longer than kLong_ns.
  std::uint64_t long_turns() const { return long_turns_.load(std::memory_order_relaxed); }
  std::uint64_t longest_ns() const { return longest_ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> long_turns_{0};
  std::atomic<std::uint64_t> longest_ns_{0};
};

// Measures the turns of the reactor whose source it is, by the clock that the reactor reads once a turn.
class TurnClock final : public PollSource {
 public:
  TurnClock(const Clock& clock, TurnTimes& times) : clock_(clock), times_(times) {}

  bool poll() override {
    const std::uint64_t now_ns = clock_.now_ns();
    if (running_) times_.add(now_ns - began_ns_);
    began_ns_ = now_ns;
    running_ = true;
    return false;
  }
  bool prepare_sleep() override {
    running_ = false;
    return true;
  }
  void cancel_sleep() override {}

 private:
  const Clock& clock_;
  TurnTimes& times_;
  std::uint64_t began_ns_ = 0;  // of this turn
  bool running_ = false;        // since then: the reactor did not sleep
};

}  // namespace namdb::reactor
