// What a reactor asks of the kernel: requests with their completions, and the awaitable operations on file
// descriptors. Everything that a request names (itself, buffers, addresses, the coroutine frame) belongs to
// the kernel until its last completion.
#pragma once

#include <coroutine>
#include <cstdint>

namespace namdb::reactor {

class Reactor;

// One request. Multishot requests complete several times.
class IoRequest {
 public:
  // `result` is the kernel's: not negative, or a negated error number. `flags` are the completion's
  // (IORING_CQE_F_*). After the last completion the object may be destroyed, also from within the call.
  virtual void on_completion(std::int32_t result, std::uint32_t flags) = 0;

 protected:
  ~IoRequest() = default;
};

// The fields of a submission that namdb's operations use, in the kernel's meaning.
struct IoFields {
  std::uint8_t opcode;
  int descriptor;
  const void* address;
  std::uint32_t length;
  std::uint64_t offset;
  std::uint32_t operation_flags;
};

// Awaited once: `const int result = co_await reactor.read(...)` gives the kernel's result, negative on error.
class IoOperation final : public IoRequest {
 public:
  IoOperation(Reactor& reactor, const IoFields& fields) : reactor_(reactor), fields_(fields) {}
  IoOperation(const IoOperation&) = delete;
  IoOperation& operator=(const IoOperation&) = delete;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle);
  std::int32_t await_resume() const noexcept { return result_; }

  void on_completion(std::int32_t result, std::uint32_t flags) override;

 private:
  Reactor& reactor_;
  IoFields fields_;
  std::coroutine_handle<> handle_;
  std::int32_t result_ = 0;
};

}  // namespace namdb::reactor
