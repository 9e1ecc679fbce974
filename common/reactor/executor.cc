#include "common/reactor/executor.h"

#include <algorithm>

namespace namdb::reactor {
namespace {

// A coroutine that owns itself: the frame goes away when the spawned task has ended.
struct Detached {
  struct promise_type {
    static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept { free_frame(frame, bytes); }
    Detached get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

Detached run_detached(Executor& executor, Gate& gate, Task<void> task) {
  co_await task;
  // The task's frame must be gone before the gate opens: it may name what the gate's owner destroys.
  task = Task<void>();
  gate.leave(executor);
}

}  // namespace

Executor::~Executor() = default;

void Executor::spawn(Gate& gate, Task<void> task) {
  gate.enter();
  schedule(run_detached(*this, gate, std::move(task)).handle);
}

Executor::TimerId Executor::add_timer(std::uint64_t deadline_ns, std::coroutine_handle<> handle) {
  const TimerId id{deadline_ns, timer_sequence_++};
  timers_.emplace(id, handle);
  return id;
}

bool Executor::run_turn() {
  if (!timers_.empty()) {
    const std::uint64_t now = now_ns();
    while (!timers_.empty() && timers_.begin()->first.first <= now) {
      schedule(timers_.begin()->second);
      timers_.erase(timers_.begin());
    }
  }
  const bool ran = !ready_.empty();
  std::swap(ready_, running_);
  for (const std::coroutine_handle<> handle : running_) handle.resume();
  running_.clear();
  for (TurnHook* hook : hooks_) hook->end_of_turn();
  return ran;
}

void Event::wake(Waiter& waiter) {
  waiter.notified = true;
  if (waiter.deadline_ns != ~std::uint64_t{0} && !executor_.cancel_timer(waiter.timer))
    return;  // already due
  executor_.schedule(waiter.handle);
}

void Event::notify_all() {
  for (Waiter* waiter : waiters_) wake(*waiter);  // none of them runs yet
  waiters_.clear();
}

void Event::Waiter::await_suspend(std::coroutine_handle<> awaiter) {
  handle = awaiter;
  if (deadline_ns != ~std::uint64_t{0}) timer = event->executor_.add_timer(deadline_ns, awaiter);
  event->waiters_.push_back(this);
}

bool Event::Waiter::await_resume() {
  if (!notified) std::erase(event->waiters_, this);
  return notified;
}

}  // namespace namdb::reactor
