// Memory server 0's answers about execution slots (LIST_SLOTS), as compute servers read them.
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/cluster/cluster.h"
#include "proto/control.pb.h"

namespace namdb::txn {

// Nothing of the slot is undecided, and it stays so.
inline bool is_closed(control::SlotState state) {
  return state == control::SLOT_CLOSED || state == control::SLOT_RETIRED;
}

// Asks whether that slot is closed. The cluster object outlives the task.
reactor::Task<Result<bool>> ask_closed(Cluster& cluster, std::uint32_t slot);

}  // namespace namdb::txn
