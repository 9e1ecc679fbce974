// Common to the calls of a round (memory/opening/cluster_opening.h).
#pragma once

#include "common/base/error.h"
#include "memory/calls/call.h"
#include "memory/state/opening_service.h"

namespace namdb::memory {

// Error: the caller is not a memory server; or this one does not open together with others.
Result<OpeningService*> opening_service_for(const Caller& caller);

}  // namespace namdb::memory
