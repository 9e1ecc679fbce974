// Lookups of a stage that memory servers do (common/calls/find_calls.h): one call a memory server, posted
// together with the other operations of the stage.
#pragma once

#include <vector>

#include "common/calls/find_calls.h"
#include "compute/cluster/call_set.h"

namespace namdb::txn {

class FindSet {
 public:
  explicit FindSet(Cluster& cluster) : calls_(cluster) {}

  // `found` gets the reply, which borrows from this object until the next add(); it stays empty if there is
  // no room in the call.
  void add(layout::ServerId server, const calls::FindRequest& lookup, calls::FoundPieces* found);
  bool empty() const { return asked_.empty(); }
  void post(fabric::OperationCounters& counters) { calls_.post(calls::kFindMethod, counters); }
  // Waits, and gives out the replies. Error protocol_violation: they cannot be read.
  reactor::Task<Status> finish(fabric::OperationCounters& counters);

 private:
  struct Asked {
    layout::ServerId server;
    std::uint32_t record_bytes;
    calls::FoundPieces* found;
  };
  CallSet calls_;
  std::vector<Asked> asked_;
};

}  // namespace namdb::txn
