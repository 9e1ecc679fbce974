// Wakes the tasks in which a worker keeps itself connected (supervisor.h, successor_search.h) from their
// pauses, and ends them when the worker stops. Belongs to the worker's executor.
#pragma once

#include <cstdint>
#include <utility>

#include "common/reactor/executor.h"

namespace namdb::compute {

class WakeUps {
 public:
  explicit WakeUps(reactor::Executor& executor)
      : supervision_(executor), search_(executor), silence_watch_(executor) {}

  bool stopping() const { return stopping_; }
  // From now on; not undone.
  void stop() {
    stopping_ = true;
    wake_silence_watch();
    hurry();
  }

  // Something is lost, or elsewhere: no pause is worth it.
  void hurry() {
    wake_supervision();
    wake_search();
  }
  // The next heartbeat is sent at once, also where one is under way.
  void hasten() {
    hastened_ = true;
    wake_supervision();
  }
  // Whether the next heartbeat is to be sent at once; false from then on.
  bool take_hastened() { return std::exchange(hastened_, false); }

  void wake_supervision() { supervision_.notify_all(); }
  void wake_search() { search_.notify_all(); }
  void wake_silence_watch() { silence_watch_.notify_all(); }

  // To be awaited: until then, or until woken.
  auto supervision_until(std::uint64_t deadline_ns) { return supervision_.wait_until(deadline_ns); }
  auto search_until(std::uint64_t deadline_ns) { return search_.wait_until(deadline_ns); }
  auto silence_watch_until(std::uint64_t deadline_ns) { return silence_watch_.wait_until(deadline_ns); }

 private:
  reactor::Event supervision_;
  reactor::Event search_;
  reactor::Event silence_watch_;
  bool hastened_ = false;
  bool stopping_ = false;
};

}  // namespace namdb::compute
