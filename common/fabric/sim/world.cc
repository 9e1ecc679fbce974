#include "common/fabric/sim/world.h"

#include <cinttypes>
#include <cstdio>

#include "common/fabric/sim/connection.h"

namespace namdb::fabric::sim {

// A function that a test wants to happen at some time.
class SimWorld::Scheduled final : public Event {
 public:
  explicit Scheduled(std::function<void()> function) : function_(std::move(function)) {}
  void fire() override { std::exchange(function_, nullptr)(); }

 private:
  std::function<void()> function_;
};

SimWorld::SimWorld(std::uint64_t seed, SimOptions options)
    : Scheduler(seed, options), network_(std::make_unique<Network>(*this)) {}

SimWorld::~SimWorld() {
  network_->discard_pools();
  for (auto& node : nodes_) {
    if (!node->alive()) bury(std::move(node));
  }
}

SimNode& SimWorld::add_node(std::string name) {
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back(new SimNode(*this, *network_, std::move(name), index, random_.next()));
  return *nodes_.back();
}

bool SimWorld::step(std::uint64_t limit_ns) {
  SimNode* next_node = nullptr;
  std::uint64_t next_ns = SimNode::kNever;
  for (const auto& node : nodes_) {
    const std::uint64_t turn_ns = node->next_turn_ns();
    if (turn_ns < next_ns) {
      next_ns = turn_ns;
      next_node = node.get();
    }
  }
  if (!queue_.empty() && queue_.next_time_ns() <= next_ns) {
    next_ns = queue_.next_time_ns();
    next_node = nullptr;
  }
  if (next_ns == SimNode::kNever || next_ns > limit_ns) return false;
  NAMDB_CHECK(next_ns >= now_ns_);
  now_ns_ = next_ns;
  ++events_;
  if (next_node == nullptr) {
    queue_.pop().fire();
    return true;
  }
  if (options_.pause_probability > 0 && random_.chance(options_.pause_probability)) {
    pause(*next_node, options_.pause.draw(random_));
    return true;
  }
  trace(next_node->index_);
  next_node->turn_at_ns_ = SimNode::kNever;
  next_node->seen_deadline_ns_ = SimNode::kNever;
  next_node->run_turn();
  return true;
}

void SimWorld::run_until_idle() {
  while (step(SimNode::kNever)) {
  }
}

void SimWorld::run_for(std::uint64_t duration_ns) {
  const std::uint64_t end_ns = now_ns_ + duration_ns;
  while (step(end_ns)) {
  }
  now_ns_ = end_ns;
}

bool SimWorld::run_until(const std::function<bool()>& condition, std::uint64_t limit_ns) {
  const std::uint64_t end_ns = now_ns_ + limit_ns;
  while (!condition()) {
    if (!step(end_ns)) return false;
  }
  return true;
}

void SimWorld::report_stall(const SimNode& node) const {
  std::fprintf(stderr,
               "namdb: simulation stalled: seed %" PRIu64 ", node %s, virtual time %" PRIu64 " ns, %" PRIu64
               " events\n",
               seed_, node.name().c_str(), now_ns_, events_);
  NAMDB_CHECK(!"the task ends within its limit of virtual time");
}

std::size_t SimWorld::cut(SimNode& a, SimNode& b) {
  return network_->cut_between(a, b);
}

void SimWorld::pause(SimNode& node, std::uint64_t duration_ns) {
  node.paused_until_ns_ = std::max(node.paused_until_ns_, now_ns_ + duration_ns);
}

void SimWorld::kill(SimNode& node) {
  if (!std::exchange(node.alive_, false)) return;
  trace(0xdead0000U + node.index_);
  network_->node_died(node);
}

void SimWorld::block(SimNode& a, SimNode& b, bool blocked) {
  network_->block(a, b, blocked);
  if (blocked) cut(a, b);
}

void SimWorld::slow(SimNode& node, Latency turn) {
  node.slow_turn_ = turn;
}

void SimWorld::set_clock_rate(SimNode& node, std::int64_t ppm) {
  const std::uint64_t shown_ns = node.now_ns();
  node.clock_drift_ppm_ = ppm;
  node.clock_offset_ns_ = 0;
  const std::uint64_t ran_ns = node.now_ns();
  NAMDB_CHECK(shown_ns >= ran_ns);  // clocks start far from 0
  node.clock_offset_ns_ = shown_ns - ran_ns;
  node.seen_deadline_ns_ = SimNode::kNever;
}

void SimWorld::delay(SimNode& a, SimNode& b, std::uint64_t request_ns, std::uint64_t reply_ns) {
  network_->delay(a, b, request_ns, reply_ns);
}

void SimWorld::at(std::uint64_t time_ns, std::function<void()> function) {
  scheduled_.push_back(std::make_unique<Scheduled>(std::move(function)));
  schedule(std::max(time_ns, now_ns_), *scheduled_.back());
}

std::uint64_t SimWorld::fingerprint() const {
  std::uint64_t hash = trace_hash_ ^ random_.state_hash() ^ now_ns_;
  for (const auto& node : nodes_) hash = hash * 0x9e3779b97f4a7c15ULL ^ node->random().state_hash();
  return hash * 0x9e3779b97f4a7c15ULL ^ events_;
}

}  // namespace namdb::fabric::sim
