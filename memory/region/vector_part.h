// PLACE_SLOT: other memory servers than 0 write slots' words into their parts of the timestamp vector. Server
// 0 assigns positions (memory/coordinator/slots.h) and writes its own words itself.
//
// A part becomes shorter when a slot is placed on it. Words of earlier slots behind the positions that were
// in use when that slot was leased are those of retired slots, whose versions are all visible.
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "common/layout/vector_parts.h"
#include "memory/region/region.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// A later counter of the same slot.
enum class Later : std::uint8_t { is_an_error, stays };

// The counter that the slot has there now. Error protocol_violation, and nothing has changed: the position is
// not one of this server's, it has a later slot, or it has a later counter of this slot and `later` does not
// say that this stays.
Result<std::uint32_t> place_slot(const Region& region, const layout::VectorParts& parts,
                                 const control::PlaceSlotRequest& request, Later later);

}  // namespace namdb::memory
