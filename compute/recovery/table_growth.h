// Growth of tables, of which a memory server tells workers in replies to heartbeats. A worker passes the new
// array of main buckets on to the catalog, and once the catalog has it, lets the memory server free the old
// one. Every step may be repeated, by any worker; if a worker dies in between, the next heartbeat of another
// does the rest.
#pragma once

#include "compute/cluster/cluster.h"
#include "compute/txn/lock_resolver.h"
#include "proto/control_types.h"

namespace namdb::txn {

// `cluster` and `reply` outlive the task. An error means a lost connection.
reactor::Task<Status> pass_on_growth(Cluster& cluster, layout::ServerId server,
                                     const control::HeartbeatReply& reply);

// Locks for which growth or the collector waits: their owners may be dead compute servers.
void note_held_locks(const Cluster& cluster, LockResolver& locks, layout::ServerId server,
                     const control::HeartbeatReply& reply);

}  // namespace namdb::txn
