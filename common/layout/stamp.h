// Stamps and header words (NAM-DB §5.1): they name the commit of a version, and the holder of a record.
//
// A stamp is ⟨slot, counter⟩: the execution slot that committed and its commit counter. Slot ids are never
// reused, so a stamp names one commit for ever. Stamps of different slots have no order of their own.
//
//   bit 63..35  slot, 29 bits        bit 2  moved: the ring slot may be reused
//   bit 34..3   counter, 32 bits     bit 1  deleted: the version is a tombstone
//                                    bit 0  locked: ⟨slot, counter⟩ is committing here and holds the word
//
// The header word of a record, the lock word of a bucket chain, the words of a version ring and of the
// timestamp vector all share this form. A word that can be locked is changed from unlocked to locked by CAS
// only, and is WRITTEN only by its holder.
#pragma once

#include <compare>
#include <cstdint>

namespace namdb::layout {

inline constexpr unsigned kSlot_bits = 29;
inline constexpr std::uint32_t kMaxSlot = (1U << kSlot_bits) - 1;
inline constexpr std::uint32_t kMaxCounter = ~std::uint32_t{0};

// No slot: a birth marker where a displaced stamp stands, an empty place in a ring.
inline constexpr std::uint32_t kNoSlot = 0;
// The memory server's own slot, for the locks that its collector takes. Never in the timestamp vector.
inline constexpr std::uint32_t kCollectorSlot = 1;
// Slot ids below are kept for purposes of the memory servers' own.
inline constexpr std::uint32_t kFirstLeasedSlot = 16;

struct Stamp {
  std::uint32_t slot = kNoSlot;
  std::uint32_t counter = 0;

  bool none() const { return slot == kNoSlot; }
  friend auto operator<=>(const Stamp&, const Stamp&) = default;
};

class HeaderWord {
 public:
  constexpr HeaderWord() = default;
  constexpr explicit HeaderWord(std::uint64_t value) : value_(value) {}
  constexpr explicit HeaderWord(Stamp stamp, bool deleted = false, bool locked = false, bool moved = false)
      : value_((std::uint64_t{stamp.slot} << 35) | (std::uint64_t{stamp.counter} << 3) |
               (std::uint64_t{moved} << 2) | (std::uint64_t{deleted} << 1) | std::uint64_t{locked}) {}

  constexpr std::uint64_t value() const { return value_; }
  constexpr Stamp stamp() const {
    return Stamp{static_cast<std::uint32_t>(value_ >> 35), static_cast<std::uint32_t>(value_ >> 3)};
  }
  constexpr bool moved() const { return (value_ >> 2 & 1) != 0; }
  constexpr bool deleted() const { return (value_ >> 1 & 1) != 0; }
  constexpr bool locked() const { return (value_ & 1) != 0; }
  constexpr HeaderWord with_moved() const { return HeaderWord(value_ | 4); }
  friend constexpr bool operator==(HeaderWord, HeaderWord) = default;

 private:
  std::uint64_t value_ = 0;
};

static_assert(sizeof(HeaderWord) == 8);

}  // namespace namdb::layout
