// Hints to the memory servers, beside the transaction path: records whose version ring fills up
// (MOVE_VERSIONS), and records that were deleted (NOTE_DELETES). Collected and sent in the background, one
// call in flight for each server and kind; a lost hint costs only a later wait.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/layout/global_address.h"
#include "common/reactor/executor.h"
#include "compute/txn/cluster.h"

namespace namdb::txn {

class HintQueue {
 public:
  explicit HintQueue(Cluster& cluster) : cluster_(cluster) {}

  void ring_fills(std::uint32_t table, layout::GlobalAddress record);
  void deleted(std::uint32_t table, layout::GlobalAddress record);
  // For a writer that waits: returns when the mover has looked at the record.
  reactor::Task<Status> move_now(std::uint32_t table, layout::GlobalAddress record,
                                 fabric::OperationCounters& counters);
  // Before destruction.
  reactor::Task<void> close();

 private:
  struct Queue {
    std::map<std::uint32_t, std::set<std::uint64_t>> offsets;  // by table
    bool sending = false;
  };
  using QueueKey = std::pair<std::uint16_t, layout::ServerId>;  // method, server
  void add(std::uint16_t method, std::uint32_t table, layout::GlobalAddress record);
  reactor::Task<void> send(std::uint16_t method, layout::ServerId server);
  Cluster& cluster_;
  std::map<QueueKey, Queue> queues_;
  reactor::Gate gate_;
};

}  // namespace namdb::txn
