// STATUS: the memory server's account of itself, for tools.
#pragma once

#include "memory/state/server_state.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// All of a STATUS reply except its backlog.
control::StatusReply status_of(const ServerState& server);
// All of a backlog but the sample of rings.
void describe_backlog(const ServerState& server, control::Backlog& backlog);

}  // namespace namdb::memory
