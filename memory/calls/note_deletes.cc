// NOTE_DELETES (common/calls/hot_calls.h): the records are tombstones from now on. Offsets that are not
// records of the table are skipped.
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status note_deletes(const Call& call) {
  ServerState& server = call.caller.server;
  auto list = RecordList::parse(call.request);
  if (!list.ok()) return list.status();
  const TablePointer table = server.tables.find(list->table);
  if (!table) return Status(ErrorCode::undefined_table, "no such table on this memory server");
  for (const std::uint64_t record : list->offsets) {
    if (table->records.used(record)) server.tombstones.note(list->table, record);
  }
  server.collector.wake();
  return Status();
}

}  // namespace namdb::memory::handlers
