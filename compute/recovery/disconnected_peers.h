// Compute servers that disconnected from a memory server without leaving. A worker asks server 0 which of
// them have ended for good, with all their slots closed, and tells that memory server, which then frees what
// they had reserved. May be repeated, by any worker. A worker that leaves says so, and then no other has to
// ask.
#pragma once

#include "compute/cluster/cluster.h"
#include "compute/txn/record_space.h"
#include "proto/control_types.h"

namespace namdb::txn {

// `cluster` and `reply`, that server's to a heartbeat, outlive the task. An error means a lost connection.
reactor::Task<Status> release_disconnected_peers(Cluster& cluster, layout::ServerId server,
                                                 const control::HeartbeatReply& reply);

// The worker's last message to all memory servers, once its slots are closed and nothing of it is under way:
// returns the memory that it reserved. Both outlive the task.
reactor::Task<void> leave(Cluster& cluster, RecordSpace& space);

}  // namespace namdb::txn
