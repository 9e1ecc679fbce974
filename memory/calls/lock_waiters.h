// The waiting list of record locks (common/calls/lock_calls.h; WAITDIE, RCC §4.3), served by the event loop:
// every call that waits is a coroutine, which looks at its lock word now and then through the loopback
// channel and gives way to all other calls in between. It looks again and again, since locks may be released
// by one-sided WRITEs, of which nobody tells the memory server. Where several wait for one record, the oldest
// gets it.
//
// No call waits for longer than kPatience_ns; who still wants the lock then asks again. So a fence, which
// waits for the calls of who is fenced, and a shutdown wait no longer than that, and a lock that a waiter got
// whose client has gone meanwhile is one of those that the client's slot is repaired for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/calls/lock_calls.h"
#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/region/region.h"

namespace namdb::memory {

class LockWaiters {
 public:
  static constexpr std::uint64_t kPatience_ns = kMillisecond_ns;

  explicit LockWaiters(reactor::Executor& executor) : executor_(executor) {}

  // Error protocol_violation, and nothing was done; connection_failure when the loopback channel has failed.
  // The strings outlive the task.
  reactor::Task<Status> lock(const Region& region, fabric::Channel& loopback, std::string_view request,
                             std::string& reply);

 private:
  // Until deadline_ns. `found` is the reply's word.
  reactor::Task<Status> lock_one(fabric::Channel* loopback, layout::LockRequest lock,
                                 std::uint64_t deadline_ns, layout::HeaderWord* found);
  bool oldest(const layout::LockRequest& lock) const;

  reactor::Executor& executor_;
  std::vector<const layout::LockRequest*> waiting_;
};

}  // namespace namdb::memory
