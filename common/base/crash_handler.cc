#include "common/base/crash_handler.h"

#include <absl/debugging/failure_signal_handler.h>
#include <absl/debugging/stacktrace.h>
#include <absl/debugging/symbolize.h>
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

#include <cstdint>

namespace namdb {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

// No function has so large a frame.
[[maybe_unused]] constexpr std::uintptr_t kFrameBound_bytes = 1 << 20;

struct Frames {
  void** pcs;
  int max_depth;
  std::uintptr_t interrupted;
  bool in_handler = true;
  int count = 0;
  int dropped = 0;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
  Frames& frames = *static_cast<Frames*>(argument);
  const std::uintptr_t pc = _Unwind_GetIP(context);
  if (frames.in_handler) {
    frames.in_handler = pc != frames.interrupted;
    return _URC_NO_REASON;
  }
  if (pc == 0) return _URC_END_OF_STACK;
  if (frames.count == frames.max_depth) {
    frames.dropped = 1;  // at least
    return _URC_NORMAL_STOP;
  }
  frames.pcs[frames.count++] = reinterpret_cast<void*>(pc);
  return _URC_NO_REASON;
}

// A jump to nowhere, such as the resumption of a coroutine that has ended: unwind tables know no such
// function. Its caller's address is the last that was pushed, and namdb's own code keeps frame pointers.
void add_callers_of_nowhere([[maybe_unused]] const ucontext_t& context, [[maybe_unused]] Frames& frames) {
#if defined(__x86_64__)
  const auto word_at = [](std::uintptr_t address) {
    return *reinterpret_cast<const std::uintptr_t*>(address);
  };
  auto low = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
  auto frame = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RBP]);
  std::uintptr_t pc = word_at(low);
  while (frames.count < frames.max_depth && pc != 0) {
    frames.pcs[frames.count++] = reinterpret_cast<void*>(pc);
    if (frame <= low || frame - low > kFrameBound_bytes || frame % sizeof frame != 0) return;
    low = frame;
    pc = word_at(low + sizeof low);
    frame = word_at(low);
  }
#endif
}

std::uintptr_t interrupted_pc([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return context.uc_mcontext.pc;
#else
  return 0;
#endif
}

// abseil's own unwinder wants frame pointers everywhere, and Debian's libraries have none. Safe in a signal
// handler: the tables are found without a lock, and nothing is allocated.
int unwind(void** pcs, int* sizes, int max_depth, int skip, const void* context, int* dropped) {
  if (context == nullptr) return absl::DefaultStackUnwinder(pcs, sizes, max_depth, skip, context, dropped);
  const auto& interrupted = *static_cast<const ucontext_t*>(context);
  Frames frames{pcs, max_depth, interrupted_pc(interrupted)};
  _Unwind_Backtrace(add_frame, &frames);
  if (frames.count == 0) add_callers_of_nowhere(interrupted, frames);
  for (int i = 0; sizes != nullptr && i < frames.count; ++i) sizes[i] = 0;  // not known
  if (dropped != nullptr) *dropped = frames.dropped;
  return frames.count;
}

}  // namespace

void install_crash_handler(const char* program) {
  if constexpr (kSanitized) return;
  absl::InitializeSymbolizer(program);
  absl::SetStackUnwinder(unwind);
  // abseil takes SIGTERM for a crash.
  struct sigaction terminate{};
  ::sigaction(SIGTERM, nullptr, &terminate);
  absl::InstallFailureSignalHandler({});
  ::sigaction(SIGTERM, &terminate, nullptr);
}

}  // namespace namdb
