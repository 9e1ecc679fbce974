// Common to ALLOCATE_RECORDS and ALLOCATE_BUCKETS: the consequences of an allocation.
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "memory/calls/call.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// After a success the caller has what is in the reply reserved, and the table may be due to grow; after a
// failure the collector looks for memory.
void note_allocation(Caller caller, std::uint32_t table, bool buckets, const Status& status,
                     const control::AllocateReply& reply);

}  // namespace namdb::memory
