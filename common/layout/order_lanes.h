// Where transactions are put in order before they run, in memory server 0's region behind the timestamp
// vector: a lane for each worker that orders transactions.
//   owners   a word for each lane: the slot of its worker, 0 = free so far. By CAS only; a lane whose slot
//            is not leased any more may be taken.
//   words    for each lane a word for each of its places: ⟨epoch, number⟩, 32 bits each. The epoch is the
//            lane's and not 0; it goes on from owner to owner, so that ⟨place, epoch⟩ is one transaction.
//            Number 0: the transaction is announced, and its number is still to be found. kOrderOver: it is
//            over, and the place is free. A place that was never used has 0 in both.
//   entries  for each place the rows of its transaction, which stand there before the word does:
//            0  how many, 32 bits    4  for each a hash, 31 bits, and bit 0: it may write the row
// A transaction with more rows has several places, all with the same word.
// Words and entries are written by the lane's owner alone.
#pragma once

#include <cstdint>

#include "common/layout/timestamp_vector.h"

namespace namdb::layout {

inline constexpr std::uint32_t kOrderLanes = 32;
inline constexpr std::uint32_t kOrderPlaces = 64;  // of a lane
inline constexpr std::uint32_t kOrderRows = 31;    // of a place
inline constexpr std::uint32_t kOrderEntry_bytes = 4 + 4 * kOrderRows;
inline constexpr std::uint32_t kOrderOwners_bytes = 8 * kOrderLanes;
inline constexpr std::uint32_t kOrderWords_bytes = 8 * kOrderPlaces;  // of a lane
inline constexpr std::uint64_t kOrderLanes_bytes =
    kOrderOwners_bytes +
    std::uint64_t{kOrderLanes} * (kOrderWords_bytes + std::uint64_t{kOrderPlaces} * kOrderEntry_bytes);

static_assert(kOrderEntry_bytes == 128);

// The owners' offset in the region, behind a vector of so many words.
inline constexpr std::uint64_t order_lanes_offset(std::uint64_t vector_offset,
                                                  std::uint64_t vector_capacity) {
  return (vector_offset + vector_bytes(vector_capacity) + 63) / 64 * 64;
}
// From the owners on.
inline constexpr std::uint64_t order_words_offset(std::uint32_t lane) {
  return kOrderOwners_bytes + std::uint64_t{lane} * kOrderWords_bytes;
}
inline constexpr std::uint64_t order_entry_offset(std::uint32_t lane, std::uint32_t place) {
  return order_words_offset(kOrderLanes) +
         (std::uint64_t{lane} * kOrderPlaces + place) * std::uint64_t{kOrderEntry_bytes};
}

inline constexpr std::uint32_t kOrderOver = 0xffff'ffffU;

struct OrderWord {
  std::uint32_t epoch = 0;
  std::uint32_t number = 0;

  static constexpr OrderWord of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
  }
  constexpr bool free() const { return epoch == 0 || number == kOrderOver; }
  constexpr std::uint64_t value() const { return (std::uint64_t{epoch} << 32) | number; }
};

}  // namespace namdb::layout
