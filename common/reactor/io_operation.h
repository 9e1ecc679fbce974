// The awaitable operations on file descriptors: requests (ring.h) that resume the coroutine that awaits them.
#pragma once

#include <coroutine>
#include <cstdint>

#include "common/reactor/executor.h"
#include "common/reactor/ring.h"

namespace namdb::reactor {

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
  IoOperation(Ring& ring, Executor& executor, const IoFields& fields)
      : ring_(ring), executor_(executor), fields_(fields) {}
  IoOperation(const IoOperation&) = delete;
  IoOperation& operator=(const IoOperation&) = delete;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle);
  std::int32_t await_resume() const noexcept { return result_; }

  void on_completion(std::int32_t result, std::uint32_t flags) override;

 private:
  Ring& ring_;
  Executor& executor_;
  IoFields fields_;
  std::coroutine_handle<> handle_;
  std::int32_t result_ = 0;
};

}  // namespace namdb::reactor
