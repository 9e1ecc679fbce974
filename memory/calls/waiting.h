// Calls that wait for the memory of a full region. A waiting call ends early when its caller is gone or is to
// be fenced, since the transport waits for the calls of a peer that it fences.
#pragma once

#include <cstdint>

#include "common/base/clock.h"
#include "common/reactor/task.h"
#include "memory/calls/call.h"

namespace namdb::memory {

// A call that waits checks this often whether its caller is gone.
constexpr std::uint64_t kCallerCheck_ns = 50 * kMillisecond_ns;
// The caller's channel is destroyed or about to be, or the server stops.
bool caller_is_gone(Caller caller);

// Until when a call that began at `now_ns` and finds the region full tries again.
std::uint64_t retry_deadline_ns(const ServerState& server, std::uint64_t now_ns);
// True when extents came back since, so that another try is worth it. Waits for them until the deadline, as
// long as some are on their way.
reactor::Task<bool> more_extents(Caller caller, std::uint64_t deadline_ns);

}  // namespace namdb::memory
