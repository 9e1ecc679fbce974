// INDEX_DOUBTS (common/calls/index_calls.h): entries of secondary indexes, for the caller to check.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status index_doubts(const Call& call) {
  return call.caller.server.indexes.take_doubts(call.request, call.reply);
}

}  // namespace namdb::memory::handlers
