// Hints to the memory servers, beside the transaction path: records whose version ring fills up
// (MOVE_VERSIONS), and records that were deleted (NOTE_DELETES). Collected and sent in the background, one
// call in flight for each server and kind; a lost hint costs only a later wait. A call wakes the memory
// server, which costs both sides more than the hint is worth: so hints are sent many at a time, unless one is
// urgent.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/calls/hot_calls.h"
#include "common/layout/global_address.h"
#include "common/reactor/executor.h"
#include "compute/cluster/cluster.h"

namespace namdb::txn {

class HintQueue {
 public:
  explicit HintQueue(Cluster& cluster) : cluster_(cluster) {}

  // Urgent: the record's next few writers may find no free ring slot.
  void ring_fills(std::uint32_t table, layout::GlobalAddress record, bool urgent);
  void deleted(std::uint32_t table, layout::GlobalAddress record);
  // For a writer that waits: returns when the mover has examined the record.
  reactor::Task<Status> move_now(std::uint32_t table, layout::GlobalAddress record,
                                 fabric::OperationCounters& counters);
  // Before destruction.
  reactor::Task<void> close();

 private:
  struct Queue {
    explicit Queue(reactor::Executor& executor) : wake(executor) {}
    bool due() const { return urgent || count >= calls::kMaxMoveVersions; }
    std::map<std::uint32_t, std::set<std::uint64_t>> offsets;  // by table
    std::size_t count = 0;                                     // of offsets
    bool urgent = false;
    bool sending = false;
    reactor::Event wake;  // of the sender that waits for more
  };
  using QueueKey = std::pair<std::uint16_t, layout::ServerId>;  // method, server
  void add(std::uint16_t method, std::uint32_t table, layout::GlobalAddress record, bool urgent);
  reactor::Task<void> send(std::uint16_t method, layout::ServerId server, Queue* queue);
  Cluster& cluster_;
  std::map<QueueKey, Queue> queues_;
  reactor::Gate gate_;
};

}  // namespace namdb::txn
