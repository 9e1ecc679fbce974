// The concurrency-control protocols, one line each. They are listed nowhere else.
//
// X(name, traits...): the traits are those of ProtocolTraits (common/protocols/protocol.h), except the name;
// make_<name>_protocol, in the protocol's folder, makes it for a worker (compute/txn/worker_protocol.h).
#pragma once

// clang-format off
#define NAMDB_PROTOCOLS(X)                                                                                                     \
  X(si, .description = "snapshot isolation, with a timestamp vector and old versions (NAM-DB)", .visible_by_publish = true)    \
  X(occ, .description = "optimistic: reads are validated at commit (DrTM+H)", .serializable = true, .single_version = true)    \
  X(nowait, .description = "two-phase locking: a transaction that meets a lock aborts (RCC)", .serializable = true, .single_version = true,\
    .locks_rows = true, .locks_reads = true)                                                                                   \
  X(waitdie, .description = "two-phase locking: the older one waits, the younger one aborts (RCC)", .serializable = true,      \
    .single_version = true, .locks_rows = true, .locks_reads = true, .reads_trailer = true)                                    \
  X(mvcc, .description = "ordered by timestamps, with the last versions in the record (RCC)", .serializable = true,            \
    .timestamps = true, .strict = false, .by_clocks = true)                                                                    \
  X(sundial, .description = "logical leases, renewed at commit; the timestamp is found then (SUNDIAL)", .serializable = true,  \
    .single_version = true, .timestamps = true, .strict = false)                                                               \
  X(drtm, .description = "two-phase locking, with read leases that end by themselves (DrTM)", .serializable = true,            \
    .single_version = true, .locks_reads = true, .leases_reads = true, .reads_trailer = true)                                  \
  X(calvin, .description = "transactions of an epoch are put in order, and take locks in it (CALVIN)", .serializable = true,   \
    .single_version = true, .locks_reads = true, .ordered = true)
// clang-format on
