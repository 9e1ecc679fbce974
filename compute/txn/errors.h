// Errors in which transactions end because of other transactions, or of the memory servers' contents.
#pragma once

#include "common/base/error.h"
#include "compute/api/table.h"

namespace namdb::protocol {

// Aborts that others' commits cause.
Status write_conflict(const storage::Table& table);
// A hash index's chain has become too long.
Status too_many_alike(const storage::Table& entries);
// Before anything was logged. The same error if it says already that a memory server cannot be reached.
Status lost_connection(const Status& why = Status());

}  // namespace namdb::protocol
