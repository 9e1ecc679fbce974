#include "compute/txn/errors.h"

namespace namdb::protocol {

Status write_conflict(const storage::Table& table) {
  return Status(ErrorCode::serialization_failure,
                "could not serialize access due to concurrent update of table \"" + table.name + "\"");
}

Status too_many_alike(const storage::Table& entries) {
  return Status(ErrorCode::limit_exceeded,
                "too many rows have the same values in the columns of hash index \"" + entries.name + "\"",
                "use an index of method btree for columns with few values");
}

Status lost_connection(const Status& why) {
  const bool says_it = !why.ok() && (why.code() == ErrorCode::connection_failure ||
                                     why.code() == ErrorCode::cannot_connect_now);
  if (says_it) return why;
  return Status(ErrorCode::connection_failure, "the connection to a memory server was lost");
}

}  // namespace namdb::protocol
