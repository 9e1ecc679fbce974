// An executor that a test turns by hand: time passes only in advance(), and up to timers that run_until()
// waits for.
#pragma once

#include <cstdint>

#include "common/reactor/executor.h"

namespace namdb::reactor::testing {

class ManualExecutor : public Executor {
 public:
  explicit ManualExecutor(std::uint64_t seed = 1) : Executor(seed) {}
  std::uint64_t now_ns() const override { return now_ns_; }
  // Runs until nothing is ready; jumps to the next timer while `task_done` says false.
  template <typename Done>
  void run_until(Done task_done) {
    while (!task_done()) {
      if (run_turn() || has_ready()) continue;
      const std::uint64_t deadline = next_deadline_ns();
      if (deadline == ~std::uint64_t{0}) break;
      if (deadline > now_ns_) now_ns_ = deadline;
    }
  }
  // One turn: all tasks that are ready now.
  void turn() { run_turn(); }
  void advance(std::uint64_t duration_ns) { now_ns_ += duration_ns; }
  // Until nothing is ready and no timer is due.
  void run_ready() {
    while (run_turn() || has_ready()) {
    }
  }

 private:
  std::uint64_t now_ns_ = 0;
};

}  // namespace namdb::reactor::testing
