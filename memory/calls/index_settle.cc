// INDEX_SETTLE (common/calls/index_calls.h): verdicts on entries of secondary indexes that were in doubt.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status index_settle(const Call& call) {
  Status status = call.caller.server.indexes.settle(call.request);
  call.caller.server.collector.wake();
  return status;
}

}  // namespace namdb::memory::handlers
