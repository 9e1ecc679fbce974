// The part of a manifest's state that the sweep does not fill (SweepOptions::add_state): all that a memory
// server knows besides the records and blocks of its region, and that the log has only before the checkpoint.
// Each fact in this state stays true, so the state may be newer than the position where redo begins.
#pragma once

#include "memory/state/server_state.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// Control state is durable already; the journals' part is durable with the log, up to now.
void add_checkpoint_state(const ServerState& server, control::CheckpointState& state);

}  // namespace namdb::memory
