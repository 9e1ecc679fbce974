#include "common/base/signal_stack.h"

#include <signal.h>
#include <sys/mman.h>

#include "common/base/address_sanitizer.h"

namespace namdb {
namespace {

// The size that abseil's handler asks for, and a page below that faults.
constexpr std::size_t kStack_bytes = 64 << 10;
constexpr std::size_t kGuard_bytes = 4 << 10;

}  // namespace

SignalStack::SignalStack() {
#ifndef NAMDB_ADDRESS_SANITIZER
  void* const memory =
      ::mmap(nullptr, kGuard_bytes + kStack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = static_cast<std::byte*>(memory) + kGuard_bytes;
  stack.ss_size = kStack_bytes;
  if (::mprotect(stack.ss_sp, kStack_bytes, PROT_READ | PROT_WRITE) == 0 &&
      ::sigaltstack(&stack, nullptr) == 0) {
    memory_ = memory;
  } else {
    ::munmap(memory, kGuard_bytes + kStack_bytes);
  }
#endif
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
  ::munmap(memory_, kGuard_bytes + kStack_bytes);
}

}  // namespace namdb
