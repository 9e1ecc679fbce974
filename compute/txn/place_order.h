// The order of records by their addresses, for scans that READ them where they lie.
#pragma once

#include <cstdint>
#include <vector>

#include "common/layout/global_address.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::protocol {

// Where a bucket's entry says that a record is.
struct RecordPlace {
  layout::GlobalAddress record;
  std::uint16_t incarnation = 0;
};

// Sorts the places: the highest address comes first. Records that begin in the same 64 bytes come in any
// order. Other coroutines have their turns in between.
reactor::Task<void> sort_places(reactor::Executor* executor, std::vector<RecordPlace>* places);

}  // namespace namdb::protocol
