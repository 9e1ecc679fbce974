// Task<T>: a lazy coroutine, awaited once, by symmetric transfer. It starts when it is awaited and resumes
// its awaiter when it ends; the frame comes from the thread's pool and dies with the Task object.
//
// Rules (lint enforces what it can): parameters by value or to objects that outlive the task; no capturing
// lambda coroutines; no lock, iterator or guard held across co_await; a task that no coroutine awaits is
// spawned into a Gate (executor.h). g++ 12 miscompiles some temporaries in co_await expressions: give an
// awaited call named locals or plain values, never a braced aggregate.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "common/base/check.h"
#include "common/reactor/frame_pool.h"

namespace namdb::reactor {

template <typename T = void>
class Task;

namespace detail {

struct FinalAwaiter {
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
    return self.promise().continuation;
  }
  void await_resume() const noexcept {}
};

struct PromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();

  static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { free_frame(frame, bytes); }

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  // namdb does not use exceptions for errors; an exception that escapes (bad_alloc) ends the process.
  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
};

}  // namespace detail

template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;

  Task() = default;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() { destroy(); }

  bool valid() const { return handle_ != nullptr; }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept {
    handle_.promise().continuation = awaiter;
    return handle_;
  }
  T await_resume() {
    if constexpr (!std::is_void_v<T>) {
      return std::move(*handle_.promise().value);
    }
  }

 private:
  void destroy() {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <typename T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace detail
}  // namespace namdb::reactor
