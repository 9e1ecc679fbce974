// Where a record's old versions lie in the overflow region (record.h, kOverflow*): in groups, side by side,
// so that one READ brings many.
//
// A group has room for a few entries of one record and is filled from its first place on, the oldest version
// first. A link names an entry, and its place in the group: the entries at the places before it are older and
// were written before the link was. Of the entry at a group's first place, `next` leads to the newest entry
// of the group before.
//
// The longer the entries, the fewer fit into a group. So that one round trip still brings as many, the entry
// at a group's first place also has links to the newest entries of the groups before that one
// (overflow_links()). These links are written once: their targets may have been collected since, and the
// memory may be in other use. `next` alone is true as long as the entry is; a group counts as another's
// predecessor only if that group's `next` leads to it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/layout/record.h"

namespace namdb::layout {

// The most places of a group, and of a record's first one: most records have few old versions at a time.
inline constexpr std::uint32_t kGroupPlaces = 16;
inline constexpr std::uint32_t kFirstGroupPlaces = 4;
// The longest group, unless one version is longer.
inline constexpr std::uint32_t kVersionsRead_bytes = 32U << 10;

// How many groups before its own an entry names, `next` included.
constexpr std::uint32_t overflow_links(std::uint32_t body_bytes) {
  const std::uint32_t places =
      std::clamp(kVersionsRead_bytes / (kOverflowBody_offset + body_bytes + 8), 1U, kGroupPlaces);
  return (kGroupPlaces + places - 1) / places;
}

// The length of an entry: behind the image stand the links except `next`, and a word for the memory server
// alone.
constexpr std::uint32_t overflow_entry_bytes(std::uint32_t body_bytes) {
  return kOverflowBody_offset + body_bytes + 8 * (overflow_links(body_bytes) - 1) + 8;
}

// Where in an entry the link to so many groups before its own stands; 1 is `next`.
constexpr std::uint32_t overflow_link_offset(std::uint32_t groups_before, std::uint32_t body_bytes) {
  return groups_before == 1 ? kOverflowNext_offset
                            : kOverflowBody_offset + body_bytes + 8 * (groups_before - 2);
}

constexpr std::uint32_t group_places(std::uint32_t entry_bytes, bool first) {
  return std::clamp(kVersionsRead_bytes / entry_bytes, 1U, first ? kFirstGroupPlaces : kGroupPlaces);
}

// The record's overflow head .. ring payloads: all that a ring says of older versions.
inline std::uint32_t versions_bytes(const RecordLayout& record) {
  return 8 + record.ring_slots * (8 + record.body_bytes());
}

// 48 bits offset of the entry, 16 bits place. 0 = none.
class OverflowLink {
 public:
  constexpr OverflowLink() = default;
  constexpr explicit OverflowLink(std::uint64_t word) : word_(word) {}
  constexpr OverflowLink(std::uint64_t group, std::uint32_t place, std::uint32_t entry_bytes)
      : word_((std::uint64_t{place} << 48) | (group + std::uint64_t{place} * entry_bytes)) {}

  constexpr std::uint64_t word() const { return word_; }
  constexpr bool none() const { return word_ == 0; }
  constexpr std::uint64_t entry() const { return word_ & GlobalAddress::kOffsetMask; }
  constexpr std::uint32_t place() const { return static_cast<std::uint32_t>(word_ >> 48); }
  // Where the entry at the first place lies.
  constexpr std::uint64_t group(std::uint32_t entry_bytes) const {
    return entry() - std::uint64_t{place()} * entry_bytes;
  }
  // From there through the entry.
  constexpr std::uint32_t read_bytes(std::uint32_t entry_bytes) const { return (place() + 1) * entry_bytes; }
  // False of a word that cannot be a link in a region of that length. Links come from memory that may be
  // something else by now.
  constexpr bool valid(std::uint32_t entry_bytes, std::uint64_t region_bytes) const {
    return !none() && entry() % 8 == 0 && place() < kGroupPlaces &&
           entry() > std::uint64_t{place()} * entry_bytes && entry() + entry_bytes <= region_bytes;
  }
  friend constexpr bool operator==(OverflowLink, OverflowLink) = default;

 private:
  std::uint64_t word_ = 0;
};

}  // namespace namdb::layout
