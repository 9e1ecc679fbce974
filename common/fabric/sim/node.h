// A simulated process: its executor, with a clock of its own. The world drives it (world.h).
#pragma once

#include <cstdint>
#include <string>

#include "common/fabric/sim/options.h"
#include "common/fabric/sim/scheduler.h"
#include "common/reactor/executor.h"

namespace namdb::fabric::sim {

class Network;

class SimNode final : public reactor::Executor {
 public:
  // The node's own clock: starts anywhere, may drift, does not go back.
  std::uint64_t now_ns() const override;
  const std::string& name() const { return name_; }
  std::uint32_t index() const { return index_; }
  Scheduler& scheduler() { return scheduler_; }
  Network& network() { return network_; }
  bool alive() const { return alive_; }

 private:
  friend class SimWorld;
  SimNode(Scheduler& scheduler, Network& network, std::string name, std::uint32_t index, std::uint64_t seed);
  // The time of this node's clock at that world time, and the first world time at which it shows that time.
  std::uint64_t clock_at(std::uint64_t world_ns) const;
  std::uint64_t world_time_ns(std::uint64_t clock_ns) const;
  // World time of the next turn, ~0 if there is nothing to do. Draws the delay once per turn.
  std::uint64_t next_turn_ns();

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  Scheduler& scheduler_;
  Network& network_;
  std::string name_;
  std::uint32_t index_;
  bool alive_ = true;
  std::uint64_t clock_offset_ns_ = 0;
  std::int64_t clock_drift_ppm_ = 0;
  std::uint64_t paused_until_ns_ = 0;
  Latency slow_turn_;
  std::uint64_t turn_at_ns_ = kNever;
  std::uint64_t seen_deadline_ns_ = kNever;
  std::uint64_t timer_turn_at_ns_ = kNever;
};

}  // namespace namdb::fabric::sim
