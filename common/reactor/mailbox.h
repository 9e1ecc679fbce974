// Mailbox: the one way from one reactor's thread to another's. Messages are functions that run on the
// receiving reactor's thread, in the order in which one sender posted them; between senders there is no
// order. post() is the only thread-safe call. It makes no system call unless the receiver sleeps.
//
// All objects that a message's function names must live until it ran. Messages that are still there when the
// mailbox is destroyed are dropped unrun. No sender may post to a mailbox that is being destroyed: join the
// threads first.
#pragma once

#include <atomic>
#include <coroutine>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "common/reactor/executor.h"
#include "common/reactor/poll_source.h"

namespace namdb::reactor {

class Mailbox final : public PollSource {
 public:
  using Message = std::function<void()>;

  // `wake` ends the executor's sleep; it is called on the senders' threads.
  Mailbox(Executor& executor, std::function<void()> wake) : executor_(executor), wake_(std::move(wake)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() override;

  // Any thread. Never blocks.
  void post(Message message);
  // Any thread. The coroutine belongs to this mailbox's executor and is resumed in one of its turns.
  void post(std::coroutine_handle<> handle) {
    post([this, handle] { executor_.schedule(handle); });
  }

  Executor& executor() { return executor_; }

  bool poll() override;
  bool prepare_sleep() override;
  void cancel_sleep() override;

 private:
  struct Node {
    Message message;
    Node* next;
  };

  Executor& executor_;
  std::function<void()> wake_;
  // Newest first; the receiver takes the whole list and turns it round.
  std::atomic<Node*> head_{nullptr};
  // Set by the receiver before its last look at head_; the thread that clears it wakes the receiver.
  std::atomic<bool> asleep_{false};
};

// Runs `function` on the receiver's thread and resumes the caller, on its own, with the result. Both reactors
// must run until then. Awaited at once: `co_await call_on(target, home, f)` with a named `f`.
template <typename Function>
class RemoteCall {
 public:
  using Value = std::invoke_result_t<Function&>;
  RemoteCall(Mailbox& target, Mailbox& home, Function function)
      : target_(target), home_(home), function_(std::move(function)) {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    target_.post([this, handle] {
      if constexpr (std::is_void_v<Value>) {
        function_();
      } else {
        value_.emplace(function_());
      }
      home_.post(handle);
    });
  }
  Value await_resume() {
    if constexpr (!std::is_void_v<Value>) return std::move(*value_);
  }

 private:
  Mailbox& target_;
  Mailbox& home_;
  Function function_;
  std::optional<std::conditional_t<std::is_void_v<Value>, std::monostate, Value>> value_;
};

template <typename Function>
RemoteCall<Function> call_on(Mailbox& target, Mailbox& home, Function function) {
  return RemoteCall<Function>(target, home, std::move(function));
}

}  // namespace namdb::reactor
