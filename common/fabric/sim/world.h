// A simulated cluster: nodes on one thread, in virtual time, decided by one seed. The same seed and the same
// program give the same run, event by event (fingerprint()). Nothing here reads a clock, a random device or
// an address's value.
//
// A SimNode is the executor of one simulated process. The world drives a node's turns one at a time, at
// moments drawn from the seed; virtual time stands still within a turn. The network (connection.h) carries
// out the fabric's contract and nothing kinder. Faults: cut() connections, pause() a node, kill() a node.
//
// A killed node is never driven again: its coroutines stay suspended where they are for ever, as those of a
// process that got SIGKILL. Their destructors must not run, so their frames, and the objects that own them,
// are never freed: bury() takes the objects that the test owned of the dead process and keeps them reachable,
// so that the leak checker stays meaningful for all others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/sim/graveyard.h"
#include "common/fabric/sim/node.h"
#include "common/fabric/sim/options.h"
#include "common/fabric/sim/scheduler.h"
#include "common/reactor/executor.h"

namespace namdb::fabric::sim {

class Network;

class SimWorld final : public Scheduler {
 public:
  explicit SimWorld(std::uint64_t seed, SimOptions options = {});
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
  // From now on each message between the two nodes takes longer by that.
  void delay(SimNode& a, SimNode& b, std::uint64_t request_ns, std::uint64_t reply_ns);
  // Runs the function at the time (world clock) in no node's turn: for fault schedules.
  void at(std::uint64_t time_ns, std::function<void()> function);

  std::uint64_t events() const { return events_; }
  // Equal for equal runs: the states of all generators and the sequence of all events.
  std::uint64_t fingerprint() const;

 private:
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
  std::uint64_t events_ = 0;
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
