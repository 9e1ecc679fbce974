// Memory for displaced versions that the version mover copied out of rings (record.h, kOverflow*).
//
// Entries are WRITTEN by this server only and READ by anyone, so they are reused as soon as no transaction
// can still look for them: durations suffice. Behind the body an entry has one more word, for this server
// alone: the offset of the next newer entry of its record, 0 = the record's overflow head points here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "common/layout/record.h"
#include "memory/region.h"
#include "memory/units.h"

namespace namdb::memory {

class Overflow {
 public:
  explicit Overflow(Region& region) : region_(region) {}

  static std::uint32_t entry_bytes(std::uint32_t body_bytes) {
    return layout::kOverflowBody_offset + body_bytes + 8;
  }
  static std::uint64_t newer_offset(std::uint64_t entry, std::uint32_t entry_bytes) {
    return entry + entry_bytes - 8;
  }

  // nullopt when the region is full.
  std::optional<std::uint64_t> allocate(std::uint32_t entry_bytes);
  void free(std::uint64_t entry, std::uint32_t entry_bytes);
  bool used(std::uint64_t entry, std::uint32_t entry_bytes) const;

  // By entry length.
  const std::map<std::uint32_t, std::unique_ptr<Units>>& classes() const { return classes_; }
  // Bytes of entries in use, and of the blocks that hold them.
  std::uint64_t used_bytes() const;
  std::uint64_t block_bytes() const;

 private:
  Region& region_;
  std::map<std::uint32_t, std::unique_ptr<Units>> classes_;  // by entry length
};

}  // namespace namdb::memory
