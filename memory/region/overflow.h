// Memory for displaced versions that the version mover copied out of rings (record.h, kOverflow*), in groups
// of neighbours (overflow_group.h).
//
// Entries are WRITTEN by this server only and READ by anyone, so they are reused as soon as no transaction
// can still look for them: durations suffice. A place is written once; a group is used again when all of its
// entries were freed. Behind the body an entry has one more word, for this server alone: the link to the next
// newer entry of its record, 0 = the record's overflow head points here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "common/layout/overflow_group.h"
#include "common/layout/record.h"
#include "memory/region/region.h"
#include "memory/region/slab_allocator.h"

namespace namdb::memory {

class Overflow {
 public:
  explicit Overflow(Region& region) : region_(region) {}

  static std::uint32_t entry_bytes(std::uint32_t body_bytes) {
    return layout::overflow_entry_bytes(body_bytes);
  }
  static std::uint64_t newer_offset(layout::OverflowLink entry, std::uint32_t entry_bytes) {
    return entry.entry() + entry_bytes - 8;
  }

  // Room for an entry behind `newest`, its record's newest one, in that one's group if that has some. Links
  // may be any words. nullopt when the region is full.
  std::optional<layout::OverflowLink> allocate(layout::OverflowLink newest, std::uint32_t entry_bytes);
  // Once for each allocated entry; a record's oldest first.
  void free(layout::OverflowLink entry, std::uint32_t entry_bytes);
  // True if the entry is one of a group that is in use.
  bool used(layout::OverflowLink entry, std::uint32_t entry_bytes) const;

  // The allocators, by a group's length.
  const std::map<std::uint32_t, std::unique_ptr<SlabAllocator>>& classes() const { return classes_; }
  // Bytes of entries in use, of the other places of their groups, and of the blocks that hold them.
  std::uint64_t used_bytes() const { return used_bytes_; }
  std::uint64_t spare_bytes() const;
  std::uint64_t block_bytes() const;

 private:
  struct Group {
    std::uint32_t entry_bytes = 0;
    std::uint8_t places = 0;
    std::uint8_t filled = 0;
    std::uint8_t live = 0;
  };
  std::optional<std::pair<std::uint64_t, Group>> allocate_group(std::uint32_t places,
                                                                std::uint32_t entry_bytes);

  Region& region_;
  std::map<std::uint32_t, std::unique_ptr<SlabAllocator>> classes_;
  std::unordered_map<std::uint64_t, Group> groups_;  // by offset
  std::uint64_t used_bytes_ = 0;
};

}  // namespace namdb::memory
