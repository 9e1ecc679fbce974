// The bytes of the calls on or beside the transaction path. All fields are little-endian 64-bit words.
//
// MOVE_VERSIONS (method 16), a hint from a compute server that records' rings fill up:
//   request  table id, then record offsets, one word each, at most kMaxMoveVersions
//   reply    empty, when the mover has checked all of them
//   The memory server copies the unmoved ring slots of each record to the overflow region and sets their
//   moved bits. Offsets are outside input: those that are not records of the table are skipped.
// SNAPSHOT (method 17), server 0: a double-collected copy of the timestamp vector, taken by the handler in
//   its own memory after the call arrived.
//   request  empty
//   reply    catalog version, length n, n words (the bytes of the vector itself, timestamp_vector.h);
//            snapshot_unstable when no two collections in a bounded number agree
// NOTE_DELETES (method 18), a hint from a compute server that has committed deletes of these records:
//   request  as MOVE_VERSIONS
//   reply    empty, at once
//   The memory server reclaims each once its tombstone has been visible long enough.
// PING (method 29): request and reply are empty; answered at once.
// LEASE (method 96), a memory server whose region has copies, or may get some: request and reply are empty.
//   Answered while no other host can let workers into the region before the time of a worker's lease has
//   passed since the answer (compute/cluster/primary_leases.h).
#pragma once

#include <cstdint>

#include "common/base/clock.h"

namespace namdb::calls {

inline constexpr std::uint16_t kMoveVersionsMethod = 16;
inline constexpr std::uint16_t kSnapshotMethod = 17;
inline constexpr std::uint16_t kNoteDeletesMethod = 18;
inline constexpr std::uint16_t kPingMethod = 29;
inline constexpr std::uint16_t kLeaseMethod = 96;
// From when LEASE was posted.
inline constexpr std::uint64_t kWorkerLease_ns = 500 * kMillisecond_ns;
// Offsets in one request of MOVE_VERSIONS or NOTE_DELETES.
inline constexpr std::uint32_t kMaxMoveVersions = 512;

}  // namespace namdb::calls
