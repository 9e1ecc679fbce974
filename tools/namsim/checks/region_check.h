// A checker of regions at rest. It checks every word of the memory servers when all clients have finished,
// every compute server has stopped cleanly or its slots are closed, and the memory servers' own tasks have
// ended. It walks each region from its map and the catalog and trusts no list that it can derive from the
// bytes.
//
// Checked are
//   the map, the timestamp vector (a word for each known slot and no other) and that all journals are closed;
//   the memory: each block that is taken has one owner; the account of the memory adds up;
//   the bucket chains: lock words free; every bucket certified, of its table and generation, reached once;
//   every entry leads to a certified record of its table, hash and incarnation, in its chain; no record and
//   no key twice;
//   the records: the header word is free and equals the body's, the body's commit is published; the versions
//   behind it are in order and unbroken, in the ring and in the overflow region, down to a birth marker or to
//   a version whose successor is published; no ring slot that can never be taken again;
//   the pieces: each that is handed out is linked, reserved and never written, or waits to be used again; a
//   record that is linked is of its place's last grant.
//
// One leftover is by design and no finding: the lock of a bucket chain whose slot died without a journal
// entry and is closed. The next transaction that meets it undoes it.
#pragma once

#include <string>
#include <vector>

#include "memory/server/server.h"

namespace namdb::sim {

// `servers` by id, all of one cluster, stopped. Each finding is one sentence with addresses; at most a
// hundred are given.
std::vector<std::string> check_regions(const std::vector<const memory::MemoryServer*>& servers);

}  // namespace namdb::sim
