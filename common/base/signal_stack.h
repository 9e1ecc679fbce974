// A stack for the signal handlers of one thread, so that they can run when its own stack has overflowed.
#pragma once

#include <cstddef>

namespace namdb {

// Belongs to the thread that constructs it, which destroys it as well; one at a time. Without memory for it
// the thread goes on without one. Under the address sanitizer, which gives its threads stacks itself, it is
// empty.
class SignalStack {
 public:
  SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack();

 private:
  void* memory_ = nullptr;
};

}  // namespace namdb
