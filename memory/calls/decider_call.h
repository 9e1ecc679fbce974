// Common to the calls of the decider (common/calls/decider_calls.h).
#pragma once

#include "common/base/error.h"
#include "memory/calls/call.h"

namespace namdb::memory {

// Error insufficient_privilege: the caller is no memory server.
Status check_decider(const Caller& caller);

}  // namespace namdb::memory
