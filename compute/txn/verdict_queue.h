// Verdicts on index entries that were in doubt (common/calls/index_calls.h, INDEX_SETTLE): collected and sent
// in the background, one call in flight for each memory server. A lost verdict costs only that the record is
// checked later. They are sent many at a time, since a call wakes the memory server.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "common/calls/index_calls.h"
#include "common/layout/global_address.h"
#include "common/reactor/executor.h"
#include "compute/cluster/cluster.h"

namespace namdb::txn {

class VerdictQueue {
 public:
  explicit VerdictQueue(Cluster& cluster) : cluster_(cluster) {}

  void add(layout::ServerId server, const calls::IndexVerdict& verdict);
  // Sends what is there, or a part of it if it is much. Before destruction.
  reactor::Task<void> close();

 private:
  struct Queue {
    explicit Queue(reactor::Executor& executor) : wake(executor) {}
    std::deque<std::string> parts;  // of a call each; the last one may become longer
    std::size_t bytes = 0;
    bool sending = false;
    reactor::Event wake;  // of the sender that waits for more
  };
  reactor::Task<void> send(layout::ServerId server, Queue* queue);
  Cluster& cluster_;
  std::map<layout::ServerId, Queue> queues_;
  reactor::Gate gate_;
};

}  // namespace namdb::txn
