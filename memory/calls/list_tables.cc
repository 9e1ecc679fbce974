// LIST_TABLES: the tables that have memory on this server.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status list_tables(Caller caller, const control::ListTablesRequest& /*request*/,
                   control::ListTablesReply& reply) {
  for (const auto& [id, table] : caller.server.tables.all()) {
    if (!table->discarded) reply.add_tables(id);
  }
  return Status();
}

}  // namespace namdb::memory::handlers
