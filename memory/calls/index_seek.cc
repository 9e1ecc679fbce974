// INDEX_SEEK (common/calls/index_calls.h): a search in a secondary index.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status index_seek(const Call& call) {
  return call.caller.server.indexes.seek(call.request, call.reply);
}

}  // namespace namdb::memory::handlers
