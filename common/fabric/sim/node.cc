#include "common/fabric/sim/node.h"

#include <algorithm>
#include <utility>

namespace namdb::fabric::sim {

SimNode::SimNode(Scheduler& scheduler, Network& network, std::string name, std::uint32_t index,
                 std::uint64_t seed)
    : Executor(seed), scheduler_(scheduler), network_(network), name_(std::move(name)), index_(index) {
  clock_offset_ns_ = scheduler.random().below(1000 * kSecond_ns);
  const std::int64_t drift = scheduler.options().clock_drift_ppm;
  if (drift != 0) {
    clock_drift_ppm_ =
        static_cast<std::int64_t>(scheduler.random().below(2 * static_cast<std::uint64_t>(drift) + 1));
    clock_drift_ppm_ -= drift;
  }
}

std::uint64_t SimNode::now_ns() const {
  return clock_at(scheduler_.now_ns());
}

std::uint64_t SimNode::clock_at(std::uint64_t world_ns) const {
  const __int128 drifted = static_cast<__int128>(world_ns) * clock_drift_ppm_ / 1'000'000;
  return clock_offset_ns_ + static_cast<std::uint64_t>(static_cast<__int128>(world_ns) + drifted);
}

std::uint64_t SimNode::world_time_ns(std::uint64_t clock_ns) const {
  if (clock_ns <= clock_offset_ns_) return 0;
  const __int128 scaled = static_cast<__int128>(clock_ns - clock_offset_ns_) * 1'000'000;
  const __int128 time = scaled / (1'000'000 + clock_drift_ppm_);
  if (time >= static_cast<__int128>(kNever / 2)) return kNever;
  auto world_ns = static_cast<std::uint64_t>(time);
  while (clock_at(world_ns) < clock_ns) ++world_ns;
  return world_ns;
}

std::uint64_t SimNode::next_turn_ns() {
  if (!alive_) return kNever;
  std::uint64_t turn = kNever;
  if (has_ready()) {
    if (turn_at_ns_ == kNever) {
      turn_at_ns_ = scheduler_.now_ns() + scheduler_.options().turn.draw(scheduler_.random());
      turn_at_ns_ += slow_turn_.draw(scheduler_.random());
    }
    turn = turn_at_ns_;
  }
  if (const std::uint64_t deadline = next_deadline_ns(); deadline != kNever) {
    if (deadline != seen_deadline_ns_) {
      seen_deadline_ns_ = deadline;
      const std::uint64_t due = world_time_ns(deadline);
      timer_turn_at_ns_ = due;
      if (due != kNever)
        timer_turn_at_ns_ +=
            scheduler_.options().turn.draw(scheduler_.random()) + slow_turn_.draw(scheduler_.random());
    }
    turn = std::min(turn, timer_turn_at_ns_);
  }
  return turn == kNever ? kNever : std::max({turn, paused_until_ns_, scheduler_.now_ns()});
}

}  // namespace namdb::fabric::sim
