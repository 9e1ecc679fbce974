// Virtual time and its events: the part of a SimWorld that nodes and the network use.
#pragma once

#include <cstdint>

#include "common/base/random.h"
#include "common/fabric/sim/event_queue.h"
#include "common/fabric/sim/options.h"

namespace namdb::fabric::sim {

class Scheduler {
 public:
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // True virtual time, which no node sees exactly.
  std::uint64_t now_ns() const { return now_ns_; }
  // For decisions of the test and the network, from the seed.
  Random& random() { return random_; }
  SimOptions& options() { return options_; }
  // The event fires at that time, after those that were scheduled for the same time before. It stays its
  // owner's.
  void schedule(std::uint64_t time_ns, Event& event) { queue_.add(time_ns, event); }
  // Something has happened that equal runs have in common (SimWorld::fingerprint()).
  void trace(std::uint64_t what) {
    trace_hash_ = (trace_hash_ ^ what ^ now_ns_) * 0x9e3779b97f4a7c15ULL;
    trace_hash_ ^= trace_hash_ >> 29;
  }

 protected:
  Scheduler(std::uint64_t seed, const SimOptions& options) : seed_(seed), options_(options), random_(seed) {}
  ~Scheduler() = default;

  std::uint64_t seed_;
  SimOptions options_;
  Random random_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t trace_hash_ = 0;
  EventQueue queue_;
};

}  // namespace namdb::fabric::sim
