// Secondary indexes while transactions run and compute servers die: one whole run, decided by a seed.
//
// Clients insert, change and delete rows of one table. Every transaction compares the rows of a range by an
// index with those by a full scan, in both directions and with the transaction's own writes. One index is
// there from the start, a unique one and others are built, rebuilt and dropped again on the way; most have a
// part on each memory server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/protocols/protocol.h"
#include "common/protocols/stages.h"
#include "tools/namsim/cluster/cluster.h"

namespace namdb::sim {

enum class IndexTrouble : std::uint8_t {
  none,
  kills,   // compute servers die on the way, those that build indexes too
  pauses,  // compute servers take no turn for a while
};

struct IndexVerdict {
  std::string anomaly;  // empty: the run was as it must be
  std::uint64_t committed = 0;
  std::uint64_t compared = 0;    // ranges
  std::uint64_t duplicates = 0;  // commits that a unique index refused
  std::uint64_t built = 0;       // indexes
  std::uint64_t rebuilt = 0;
  std::uint64_t in_parts = 0;  // ranges of indexes that had several parts
  std::uint64_t removed = 0;   // entries
  std::uint64_t fingerprint = 0;
};

IndexVerdict run_indexes(std::uint64_t seed, IndexTrouble trouble, Interposer* interposer = nullptr,
                         std::string_view protocol = protocol::kDefaultProtocol,
                         protocol::StageCode stages = {});

}  // namespace namdb::sim
