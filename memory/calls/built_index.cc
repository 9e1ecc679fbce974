// BUILT_INDEX: the part of a secondary index on this server has entries of all rows.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status built_index(Caller caller, const control::BuiltIndexRequest& request,
                   control::BuiltIndexReply& /*reply*/) {
  return caller.server.indexes.built(caller.id, request.index());
}

}  // namespace namdb::memory::handlers
