// What a memory server other than 0 does for the part of the timestamp vector that it has (PLACE_SLOT).
// Server 0 assigns positions (slots.h) and does the same for its own words by itself.
//
// A part becomes shorter when a slot is placed on it: what lies behind the positions that were in use when
// that slot was leased, and is of earlier slots, is of retired ones, all whose versions are visible.
#pragma once

#include "common/base/error.h"
#include "common/layout/vector_parts.h"
#include "memory/region/region.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// Error protocol_violation when the position is not one of this server's, or when there stands a later slot
// or a later counter of this one: then nothing has changed.
Status place_slot(const Region& region, const layout::VectorParts& parts,
                  const control::PlaceSlotRequest& request);

}  // namespace namdb::memory
