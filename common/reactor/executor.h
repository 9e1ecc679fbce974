// Executor: the single thread on which tasks run, its timers, its clock and its randomness. The reactor
// (io_uring, real time) and the simulator (virtual time) derive from it; all other code names only this.
// Everything here belongs to the executor's own thread. A *turn* runs the coroutines that were ready when it
// began, then the end-of-turn hooks. A reactor has hooks for a single turn, too (Reactor::flush_soon): there
// a fabric sends in one doorbell all that these coroutines have posted.
#pragma once

#include <coroutine>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/reactor/task.h"

namespace namdb::reactor {

class Gate;

// Work that is done once at the end of each turn, after every ready coroutine ran.
class TurnHook {
 public:
  virtual ~TurnHook() = default;
  virtual void end_of_turn() = 0;
};

class Executor : public Clock {
 public:
  explicit Executor(std::uint64_t seed) : random_(seed) {}
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor() override;

  Random& random() { return random_; }

  // Resumes the handle in a later step of this executor, in the order of the calls.
  void schedule(std::coroutine_handle<> handle) { ready_.push_back(handle); }

  // Suspends the awaiter until the others that are ready have run.
  auto yield() {
    struct Awaiter {
      Executor* executor;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> handle) const { executor->schedule(handle); }
      void await_resume() const noexcept {}
    };
    return Awaiter{this};
  }

  // Suspends the awaiter until now_ns() >= deadline_ns.
  auto sleep_until(std::uint64_t deadline_ns) {
    struct Awaiter {
      Executor* executor;
      std::uint64_t deadline_ns;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> handle) const { executor->add_timer(deadline_ns, handle); }
      void await_resume() const noexcept {}
    };
    return Awaiter{this, deadline_ns};
  }
  auto sleep_for(std::uint64_t duration_ns) { return sleep_until(now_ns() + duration_ns); }

  // Starts the task in a later step; the gate counts it until it ends.
  void spawn(Gate& gate, Task<void> task);

  // Timers, for awaitables. A timer fires once, or is cancelled before.
  using TimerId = std::pair<std::uint64_t, std::uint64_t>;  // deadline_ns, sequence
  TimerId add_timer(std::uint64_t deadline_ns, std::coroutine_handle<> handle);
  bool cancel_timer(TimerId id) { return timers_.erase(id) != 0; }

  void add_turn_hook(TurnHook& hook) { hooks_.push_back(&hook); }
  void remove_turn_hook(TurnHook& hook) { std::erase(hooks_, &hook); }

 protected:
  // Runs one turn: due timers, the coroutines that were ready at the start, the hooks. True if anything ran.
  bool run_turn();
  bool has_ready() const { return !ready_.empty(); }
  // Deadline of the earliest timer, or ~0 when there is none.
  std::uint64_t next_deadline_ns() const {
    return timers_.empty() ? ~std::uint64_t{0} : timers_.begin()->first.first;
  }

 private:
  Random random_;
  std::vector<std::coroutine_handle<>> ready_;
  std::vector<std::coroutine_handle<>> running_;
  std::map<TimerId, std::coroutine_handle<>> timers_;
  std::uint64_t timer_sequence_ = 0;
  std::vector<TurnHook*> hooks_;
};

// Counts the tasks spawned into it. The owner of objects that those tasks use awaits close() before it goes
// away.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { NAMDB_CHECK(count_ == 0); }

  void enter() { ++count_; }
  void leave(Executor& executor) {
    if (--count_ == 0 && waiter_) executor.schedule(std::exchange(waiter_, nullptr));
  }
  std::size_t count() const { return count_; }
  bool closing() const { return closing_; }
  // From now on tasks see closing() and should end; resumes when none is left. Awaited once.
  auto close() {
    struct Awaiter {
      Gate* gate;
      bool await_ready() const noexcept { return gate->count_ == 0; }
      void await_suspend(std::coroutine_handle<> handle) const { gate->waiter_ = handle; }
      void await_resume() const noexcept {}
    };
    closing_ = true;
    return Awaiter{this};
  }

 private:
  std::size_t count_ = 0;
  bool closing_ = false;
  std::coroutine_handle<> waiter_;
};

// Wakes the coroutines that wait on it, on one executor. There is no memory of a notification.
class Event {
 public:
  explicit Event(Executor& executor) : executor_(executor) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { NAMDB_CHECK(waiters_.empty()); }

  void notify_all();
  bool has_waiters() const { return !waiters_.empty(); }

  struct Waiter {
    Event* event;
    std::uint64_t deadline_ns;
    std::coroutine_handle<> handle = nullptr;
    Executor::TimerId timer{};
    bool notified = false;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> awaiter);
    // True if notified, false if the deadline passed first.
    bool await_resume();
  };
  Waiter wait() { return Waiter{this, ~std::uint64_t{0}}; }
  Waiter wait_until(std::uint64_t deadline_ns) { return Waiter{this, deadline_ns}; }

 private:
  void wake(Waiter& waiter);
  Executor& executor_;
  std::vector<Waiter*> waiters_;
};

}  // namespace namdb::reactor
