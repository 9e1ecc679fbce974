// STATUS, MEMORY, FABRIC: the memory server's account of itself, for tools.
#pragma once

#include "memory/calls/server_state.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// All of a STATUS reply but for its backlog.
control::StatusReply status_of(const ServerState& server);

}  // namespace namdb::memory
