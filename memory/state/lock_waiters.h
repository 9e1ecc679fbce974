// The waiting list of record locks (common/calls/lock_calls.h; WAITDIE, RCC §4.3), served by the event loop.
// Every call that waits is a coroutine, which reads its lock word now and then through the loopback channel
// and gives way to all other calls in between. It reads again and again because locks may be released by
// one-sided WRITEs, of which the memory server is not told. If several calls wait for one record, the call of
// the oldest transaction gets the lock.
//
// No call waits for longer than kPatience_ns; a transaction that still wants the lock asks again. This also
// bounds a shutdown, and a fence, which waits for the calls of the fenced peer. A waiter may get a lock after
// its client has gone: then it is undone once the client's slot is closed.
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
  reactor::Task<Status> lock_one(fabric::Channel* loopback, calls::LockRequest lock,
                                 std::uint64_t deadline_ns, layout::HeaderWord* found);
  bool oldest(const calls::LockRequest& lock) const;

  reactor::Executor& executor_;
  std::vector<const calls::LockRequest*> waiting_;
};

}  // namespace namdb::memory
