#include "common/fabric/facts.h"

#include "common/fabric/fabric.h"

namespace namdb::fabric {

void Channel::give_up(Status) {
  NAMDB_CHECK(false);  // the loopback channel ends with its server
}

void Facts::count(const OperationCounters& counters) {
  count("reads", counters.reads);
  count("writes", counters.writes);
  count("compare_and_swaps", counters.compare_and_swaps);
  count("fetch_adds", counters.fetch_adds);
  count("calls", counters.calls);
  count("batches", counters.batches);
  count("read_bytes", counters.read_bytes);
  count("write_bytes", counters.write_bytes);
  count("call_bytes", counters.call_bytes);
}

void Channel::describe(Facts& facts) const {
  facts.count(counters_);
  facts.count("failed", failed() ? 1 : 0);
}

void ServerFabric::describe(Facts& /*facts*/) const {}

}  // namespace namdb::fabric
