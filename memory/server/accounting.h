// What each byte of the region is used for: the MEMORY call, `namctl memory`, and the region checker.
//
// The parts add up to the region at any moment, also between two steps of a task that yields: whatever takes
// extents is in one of the lists that are looked at here before it suspends.
#pragma once

#include "memory/coordinator/slots.h"
#include "memory/index/indexes.h"
#include "memory/reclaim/old_versions.h"
#include "memory/reclaim/reuse.h"
#include "memory/region/overflow.h"
#include "memory/region/region.h"
#include "memory/region/reservations.h"
#include "memory/region/tables.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// Whose memory the parts are.
struct Accounted {
  const Region& region;
  const Tables& tables;
  const Indexes& indexes;
  const Overflow& overflow;
  const OldVersions& old_versions;
  const Reuse& reuse;
  const Slots* slots;  // server 0
  const Reservations& reservations;
};

control::MemoryReply account(const Accounted& of);

}  // namespace namdb::memory
