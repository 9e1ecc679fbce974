// DISCARD_TABLE: this server gives up a table's memory, and that of its indexes. It is free again once no
// peer can reach it.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status discard_table(Caller caller, const control::DiscardTableRequest& request,
                     control::DiscardTableReply& /*reply*/) {
  if (!caller.server.tables.all().contains(request.table())) {
    return Status(ErrorCode::undefined_table,
                  "this memory server has no table " + std::to_string(request.table()));
  }
  caller.server.discard(request.table());
  return Status();
}

}  // namespace namdb::memory::handlers
