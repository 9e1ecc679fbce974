// An executor whose time is its turns: each takes a millisecond, and where nothing is ready time jumps to
// the next timer. So an input does the same in each run. A turn that takes a processor too long ends the
// process, if there is a bound: other clients would have waited for it.
#pragma once

#include <cstdint>

#include "common/reactor/executor.h"

namespace namdb::fuzz {

// The bound of all executors, in processor time; 0: none.
void set_longest_turn(std::uint64_t duration_ns);

class SteppedExecutor final : public reactor::Executor {
 public:
  static constexpr std::uint64_t kTurn_ns = 1'000'000;

  SteppedExecutor() : Executor(1) {}
  std::uint64_t now_ns() const override { return now_ns_; }

  // Runs turns until `done()`; false after `most_turns`, or when nothing is left that could run.
  template <typename Done>
  bool run_until(Done done, std::uint64_t most_turns) {
    for (std::uint64_t turns = 0; !done(); ++turns) {
      if (turns == most_turns || !step()) return done();
    }
    return true;
  }
  // One turn; false: nothing is ready, and no timer waits.
  bool step();
  // Whether something could run now, without waiting for a timer.
  bool ready() const { return has_ready() || next_deadline_ns() <= now_ns_; }

 private:
  std::uint64_t now_ns_ = 0;
};

}  // namespace namdb::fuzz
