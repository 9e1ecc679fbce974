// Signals as an awaitable. The signals are blocked in the thread that constructs this, and in the threads
// that it starts later: construct it in main() before any other thread.
#pragma once

#include <initializer_list>

#include "common/base/error.h"
#include "common/reactor/task.h"

namespace namdb::reactor {

class Reactor;

class Signals {
 public:
  Signals(Reactor& reactor, std::initializer_list<int> signals);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  // No task waits any more. The signals stay blocked.
  ~Signals();

  // The number of the next of the signals that arrives; connection_failure after cancel(). One waiter.
  Task<Result<int>> next();
  // Wakes the waiter of next().
  Task<void> cancel();

 private:
  Reactor& reactor_;
  int descriptor_;
};

}  // namespace namdb::reactor
