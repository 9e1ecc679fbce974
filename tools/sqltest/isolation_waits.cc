// Permutations whose steps may wait for other sessions.
#include <algorithm>
#include <deque>

#include "tools/sqltest/isolation_runner.h"

namespace namdb::sqltest {

class IsolationRunner::Waits {
 public:
  Waits(IsolationRunner& runner, std::chrono::milliseconds turn, PermutationOutcome& outcome)
      : runner_(runner), turn_(turn), outcome_(outcome), lanes_(runner.spec_.sessions.size()) {}

  bool run(const Permutation& permutation) {
    for (const PermutationStep& place : permutation.steps) {
      if (place.mode == StepMode::collect) continue;
      const std::size_t session = runner_.spec_.steps[place.step].session;
      lanes_[session].later.push_back(place.step);
      if (!go_on(session, place.mode == StepMode::send ? std::chrono::milliseconds(0) : turn_)) return false;
      for (std::size_t other = 0; other < lanes_.size(); ++other) {
        if (other != session && !go_on(other, std::chrono::milliseconds(0))) return false;
      }
    }
    return finish();
  }

 private:
  // The steps of one session.
  struct Lane {
    std::optional<std::size_t> asked;  // under way
    std::size_t sent = 0;
    std::deque<std::size_t> later;

    bool busy() const { return asked || !later.empty(); }
  };

  // As far as the session's answers come within the time, each. False: the runner has given up.
  bool go_on(std::size_t session, std::chrono::milliseconds time) {
    Lane& lane = lanes_[session];
    while (true) {
      if (lane.asked) {
        if (!runner_.sessions_[session]->answers_within(time)) return true;
        if (!runner_.collect(*lane.asked, lane.sent, outcome_)) return false;
        lane.asked.reset();
        ++answered_;
      }
      if (lane.later.empty()) return true;
      lane.asked = lane.later.front();
      lane.later.pop_front();
      lane.sent = runner_.send(*lane.asked);
    }
  }

  bool finish() {
    while (std::ranges::any_of(lanes_, &Lane::busy)) {
      const std::size_t before = answered_;
      for (std::size_t session = 0; session < lanes_.size(); ++session) {
        if (!go_on(session, turn_)) return false;
      }
      if (answered_ != before || roll_back_idle()) continue;
      // There is no lane left to wait for, only time.
      const auto lane = std::ranges::find_if(lanes_, [](const Lane& each) { return each.asked.has_value(); });
      if (!runner_.collect(*lane->asked, lane->sent, outcome_)) return false;
      lane->asked.reset();
    }
    return true;
  }

  // Those that have no more to do; whether there was one.
  bool roll_back_idle() {
    bool any = false;
    for (std::size_t session = 0; session < lanes_.size(); ++session) {
      StepClient& client = *runner_.sessions_[session];
      if (lanes_[session].busy() || client.broken() || !client.in_block()) continue;
      any = runner_.prepare(client, runner_.spec_.sessions[session].name + "'s rollback", "ROLLBACK",
                            outcome_) ||
            any;
    }
    return any;
  }

  IsolationRunner& runner_;
  std::chrono::milliseconds turn_;
  PermutationOutcome& outcome_;
  std::vector<Lane> lanes_;  // as the spec's sessions
  std::size_t answered_ = 0;
};

Result<PermutationOutcome> IsolationRunner::run_with_waits(const Permutation& permutation,
                                                           std::chrono::milliseconds turn) {
  return run_around(
      [&](PermutationOutcome& outcome) { return Waits(*this, turn, outcome).run(permutation); });
}

}  // namespace namdb::sqltest
