// The memory server's side of lookups by key (common/calls/find_calls.h).
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/layout/global_address.h"
#include "common/reactor/task.h"
#include "memory/region/region.h"

namespace namdb::memory {

// READs what the lookups would READ, in the same order, through the loopback channel: all lookups a step at a
// time. `server` is this one. Error protocol_violation; connection_failure when the loopback channel has
// failed. The strings outlive the task.
reactor::Task<Status> find_records(const Region& region, fabric::Channel& loopback, layout::ServerId server,
                                   std::string_view request, std::string& reply);

}  // namespace namdb::memory
