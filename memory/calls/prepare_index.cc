// PREPARE_INDEX: the part of a secondary index on this server. Server 0's catalog decides which indexes
// exist (advance_index.cc).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status prepare_index(Caller caller, const control::PrepareIndexRequest& request,
                     control::PrepareIndexReply& /*reply*/) {
  return caller.server.indexes.prepare(caller.id, request);
}

}  // namespace namdb::memory::handlers
