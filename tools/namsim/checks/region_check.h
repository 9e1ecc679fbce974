// A checker of regions at rest: what every word of the memory servers must be once all clients have finished,
// every compute server has stopped in order or its slots were repaired, and the memory servers' own tasks
// have ended. It walks each region from its map and the catalog and trusts no list that it can derive from
// the bytes.
//
// Checked are
//   the map, the timestamp vector (a word for each slot that is known, none that is not) and the journals (no
//   entry of a commit that is not published);
//   the memory: each block has one owner, and none is taken without one; the account of the memory adds up;
//   the bucket chains: lock words free, every bucket certified, of its table and generation, reached once;
//   every entry leads to a certified record of its table, hash and incarnation, in its chain; no record and
//   no key twice; the records: header word free and that of the body, the body's commit published; the
//   versions behind it in order and unbroken, in the ring and in the overflow region, down to a birth marker
//   or to a version whose successor is published; no ring slot that nobody can take any more; the pieces:
//   each that is handed out is linked, reserved and never written, or waits to be used again.
//
// One thing is left by design and is no finding: the lock of a bucket chain whose slot died without a journal
// entry and was repaired. Whoever meets it undoes it.
#pragma once

#include <string>
#include <vector>

#include "memory/server/server.h"

namespace namdb::sim {

// `servers` by id, all of one cluster, stopped. Each finding is one sentence with addresses; at most a
// hundred are given.
std::vector<std::string> check_regions(const std::vector<const memory::MemoryServer*>& servers);

}  // namespace namdb::sim
