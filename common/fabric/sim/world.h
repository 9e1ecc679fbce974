// A simulated cluster: nodes on one thread, in virtual time, decided by one seed. The same seed and the same
// program give the same run, event by event (fingerprint()). Nothing here reads a clock, a random device or
// an address's value.
//
// A SimNode is the executor of one simulated process. The world drives a node's turns one at a time, at
// moments drawn from the seed; virtual time stands still within a turn. The network (connection.h) carries
// out the fabric's contract and nothing kinder. Faults: cut() connections, pause() a node, kill() a node.
//
// A killed node is never driven again: its coroutines stay suspended where they are for ever, as those of a
// process that got SIGKILL. No destructor of theirs may run, so their frames, and the objects that own them,
// are never freed: bury() takes what the test owned of the dead process and keeps it reachable (the leak
// checker stays meaningful for all else).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"
#include "common/fabric/fabric.h"
#include "common/fabric/sim/event_queue.h"
#include "common/fabric/sim/options.h"
#include "common/reactor/executor.h"

namespace namdb::fabric::sim {

class Connection;
class Network;
class SimClientFabric;
class SimServerFabric;
class SimWorld;

class SimNode final : public reactor::Executor {
 public:
  // The node's own clock: starts anywhere, may drift, does not go back.
  std::uint64_t now_ns() const override;
  const std::string& name() const { return name_; }
  std::uint32_t index() const { return index_; }
  SimWorld& world() { return world_; }
  bool alive() const { return alive_; }

 private:
  friend class SimWorld;
  SimNode(SimWorld& world, std::string name, std::uint32_t index, std::uint64_t seed);
  // What this node's clock shows at that world time, and the first world time at which it shows that.
  std::uint64_t clock_at(std::uint64_t world_ns) const;
  std::uint64_t world_time_ns(std::uint64_t clock_ns) const;
  // World time of the next turn, ~0 if there is nothing to do. Draws the delay once per turn.
  std::uint64_t next_turn_ns();

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  SimWorld& world_;
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

class SimWorld {
 public:
  explicit SimWorld(std::uint64_t seed, SimOptions options = {});
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;
  // Channels and servers of living nodes must be gone before.
  ~SimWorld();

  // The node belongs to the world. Names are for messages; a restarted process is a new node.
  SimNode& add_node(std::string name);

  // --- running; not from within a task ---
  // Runs until nothing is left to happen: no ready coroutine, timer or event at any living node.
  void run_until_idle();
  void run_for(std::uint64_t duration_ns);
  // Runs until the condition holds after some event: true. False when the world is idle or the limit of
  // virtual time, counted from now, passed first.
  bool run_until(const std::function<bool()>& condition, std::uint64_t limit_ns = 3600 * kSecond_ns);
  // Runs the task on the node to its end and gives its result. It is a programming error if the world goes
  // idle (deadlock) or the limit of virtual time passes first (livelock).
  template <typename T>
  T run(SimNode& node, reactor::Task<T> task, std::uint64_t limit_ns = 3600 * kSecond_ns);

  // --- faults; from anywhere ---
  // Cuts every open connection between the two nodes. Returns how many there were.
  std::size_t cut(SimNode& a, SimNode& b);
  // The node takes no turn for that long; its posted operations go on.
  void pause(SimNode& node, std::uint64_t duration_ns);
  // Cuts all its connections; it never runs again. A server's region is not touched any more, once this
  // returns. Called from the node's own turn, the rest of that turn still runs, without any effect.
  void kill(SimNode& node);
  // Keeps what belonged to a killed node until the program ends, without destroying it.
  template <typename T>
  static void bury(std::unique_ptr<T> object) {
    bury_pointer(object.release());
  }
  // Cuts every connection between the two nodes, and until it is called with false none is made.
  void block(SimNode& a, SimNode& b, bool blocked);
  // Each turn of the node starts later by this, too.
  void slow(SimNode& node, Latency turn);
  // The node's clock shows the same time now and runs faster or slower by this from now on.
  void set_clock_rate(SimNode& node, std::int64_t ppm);
  // From now on what connections between the two nodes carry takes longer by that, whatever else it takes.
  void delay(SimNode& a, SimNode& b, std::uint64_t request_ns, std::uint64_t reply_ns);
  // Runs the function at the time (world clock) in no node's turn: for fault schedules.
  void at(std::uint64_t time_ns, std::function<void()> function);

  std::uint64_t seed() const { return seed_; }
  // True virtual time, which no node sees exactly.
  std::uint64_t now_ns() const { return now_ns_; }
  // For decisions of the test and the network, from the same seed.
  Random& random() { return random_; }
  SimOptions& options() { return options_; }
  std::uint64_t events() const { return events_; }
  // Equal for equal runs: the states of all generators and the sequence of all events.
  std::uint64_t fingerprint() const;

  // --- for the parts of the simulator ---
  void schedule(std::uint64_t time_ns, Event& event) { queue_.add(time_ns, event); }
  void trace(std::uint64_t what) {
    trace_hash_ = (trace_hash_ ^ what ^ now_ns_) * 0x9e3779b97f4a7c15ULL;
    trace_hash_ ^= trace_hash_ >> 29;
  }
  Network& network() { return *network_; }
  static void bury_pointer(const void* object);

 private:
  friend class SimNode;
  // Carries out what is next if it is not later than the limit.
  bool step(std::uint64_t limit_ns);
  void report_stall(const SimNode& node) const;

  template <typename T>
  static reactor::Task<void> store_result(reactor::Task<T> task, std::optional<T>* result) {
    T value = co_await task;
    result->emplace(std::move(value));
  }
  static reactor::Task<void> set_done(reactor::Task<void> task, bool* done) {
    co_await task;
    *done = true;
  }

  class Scheduled;
  std::uint64_t seed_;
  SimOptions options_;
  Random random_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t trace_hash_ = 0;
  EventQueue queue_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Scheduled>> scheduled_;
};

template <typename T>
T SimWorld::run(SimNode& node, reactor::Task<T> task, std::uint64_t limit_ns) {
  reactor::Gate gate;
  if constexpr (std::is_void_v<T>) {
    bool done = false;
    node.spawn(gate, set_done(std::move(task), &done));
    if (!run_until([&] { return done; }, limit_ns)) report_stall(node);
  } else {
    std::optional<T> result;
    node.spawn(gate, store_result(std::move(task), &result));
    if (!run_until([&] { return result.has_value(); }, limit_ns)) report_stall(node);
    return std::move(*result);
  }
}

}  // namespace namdb::fabric::sim
