// Common to the calls about copies of this server's region (common/placement/follow_calls.h).
#pragma once

#include "common/base/error.h"
#include "memory/calls/call.h"
#include "memory/state/copies_service.h"

namespace namdb::memory {

// Error: the caller is a compute server; or this server has no copies, or does not answer for them now.
Result<CopiesService*> copies_for(const Call& call);

}  // namespace namdb::memory
