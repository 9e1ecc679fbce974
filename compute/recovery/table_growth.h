// What a worker does about the growth of tables that a memory server tells of in a heartbeat's reply: it
// passes the new array of main buckets on to the catalog, and once the catalog has it, lets the memory server
// give the old one back. Every step may be repeated, by any worker; one that dies in between leaves it to the
// next heartbeat.
#pragma once

#include "compute/cluster/cluster.h"
#include "compute/txn/lock_resolver.h"
#include "proto/control_types.h"

namespace namdb::txn {

// `cluster` outlives the task. An error means a lost connection.
reactor::Task<Status> pass_on_growth(Cluster& cluster, layout::ServerId server,
                                     control::HeartbeatReply reply);

// Locks for which growth or the collector waits: of dead compute servers, perhaps.
void note_held_locks(const Cluster& cluster, LockResolver& locks, layout::ServerId server,
                     const control::HeartbeatReply& reply);

}  // namespace namdb::txn
