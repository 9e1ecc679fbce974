// What a worker does about compute servers that went away from a memory server without a word: it asks server
// 0 which of them have ended for good, repairs included, and tells that memory server, which then frees what
// they had reserved. May be repeated, by any worker. And what it says itself, so that nobody has to ask.
#pragma once

#include "compute/cluster/cluster.h"
#include "compute/txn/record_space.h"
#include "proto/control_types.h"

namespace namdb::txn {

// `cluster` and `reply`, that server's to a heartbeat, outlive the task. An error means a lost connection.
reactor::Task<Status> settle_departed(Cluster& cluster, layout::ServerId server,
                                      const control::HeartbeatReply& reply);

// The last words of a worker to all memory servers: its slots are closed, nothing of it is under way, and
// what it reserved goes back. Both outlive the task.
reactor::Task<void> leave(Cluster& cluster, RecordSpace& space);

}  // namespace namdb::txn
