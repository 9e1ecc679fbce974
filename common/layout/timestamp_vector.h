// The timestamp vector (NAM-DB §4.1), on memory server 0, or a part of it on each memory server
// (vector_parts.h):
//   0    catalog version: raised by memory server 0 with every change of the catalog; 0 in other parts
//   8    length: how many words are in use; raised, confirmed, before a leased slot's first publish
//   16   words: ⟨slot id, counter⟩ in the form of stamp.h, no flags; 0 = unused. Whole: one a position
// A word carries its slot id, so a copy carries its own map from slot to position. A word is WRITTEN by the
// one channel that publishes the slot, in ascending order of the counter; the memory server writes it only
// while no channel publishes there: for a lease, and once the slot's last commit is published. A copy is a
// snapshot only if two READs of the whole vector (all its parts) are equal, and the second READ was posted
// after the first had completed.
#pragma once

#include <cstdint>

namespace namdb::layout {

inline constexpr std::uint32_t kVectorCatalog_offset = 0;
inline constexpr std::uint32_t kVectorLength_offset = 8;
inline constexpr std::uint32_t kVectorWords_offset = 16;

inline constexpr std::uint64_t vector_bytes(std::uint64_t words) {
  return kVectorWords_offset + 8 * words;
}

}  // namespace namdb::layout
