// Memory server 0's answers about execution slots (LIST_SLOTS), as compute servers read them.
#pragma once

#include "proto/control.pb.h"

namespace namdb::txn {

// Nothing of the slot is undecided, and it stays so.
inline bool is_closed(control::SlotState state) {
  return state == control::SLOT_CLOSED || state == control::SLOT_RETIRED;
}

}  // namespace namdb::txn
