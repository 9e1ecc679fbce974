// The memory server's side of stages that run two-sided (common/calls/stage_calls.h).
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/reactor/task.h"
#include "memory/region/region.h"

namespace namdb::memory {

// Does the operations of the request, in order, through the loopback channel: in the atomicity domain of the
// compute servers' one-sided operations, to which they are the same. Error protocol_violation, and nothing
// was done; connection_failure when the loopback channel has failed. The strings outlive the task.
reactor::Task<Status> run_stage(const Region& region, fabric::Channel& loopback, std::string_view request,
                                std::string& reply);

}  // namespace namdb::memory
