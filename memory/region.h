// The region's frame: region map, timestamp vector (server 0), and extents.
//
//   0                     RegionMap, written once here
//   4096                  timestamp vector (server 0 only)
//   first_extent_offset   extents, aligned to their own size; what is left at the end is not used
//
// All words that others may touch are read and written with 8-byte atomics (region_words.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/layout/region_map.h"
#include "common/layout/stamp.h"
#include "memory/extents.h"
#include "memory/options.h"

namespace namdb::memory {

class Region {
 public:
  // `bytes` are zero and stay valid. Error configuration when they are too few or an option cannot be.
  static Result<std::unique_ptr<Region>> create(std::span<std::byte> bytes, const Options& options,
                                                std::uint64_t epoch);

  const layout::RegionMap& map() const { return map_; }
  std::uint64_t bytes() const { return bytes_.size(); }
  Extents& extents() { return extents_; }
  const Extents& extents() const { return extents_; }
  // Map, vector, and what is left at the end: never given out.
  std::uint64_t fixed_bytes() const { return bytes() - extents_.count() * extents_.extent_bytes(); }

  std::byte* at(std::uint64_t offset) const { return bytes_.data() + offset; }
  layout::GlobalAddress address(std::uint64_t offset) const {
    return {static_cast<layout::ServerId>(map_.server_id), offset};
  }
  std::uint64_t load(std::uint64_t offset) const;
  void store(std::uint64_t offset, std::uint64_t word) const;
  // True if the word was `expected`. Only for words that are this server's to write.
  bool compare_exchange(std::uint64_t offset, std::uint64_t expected, std::uint64_t desired) const;
  void read(std::uint64_t offset, std::span<std::byte> destination) const;
  void write(std::uint64_t offset, std::span<const std::byte> source) const;
  void zero(std::uint64_t offset, std::uint64_t length_bytes) const;

  // The timestamp vector; server 0 only.
  std::uint64_t catalog_version_offset() const;
  std::uint64_t vector_length() const;
  layout::HeaderWord vector_word(std::uint64_t position) const;
  // Raises the length when the position lies behind it.
  void set_vector_word(std::uint64_t position, layout::Stamp stamp) const;
  // Lowers the length to that. The words behind it were those of retired slots, whose versions all are
  // visible: a copy may have them or not.
  void shorten_vector(std::uint64_t length) const;

 private:
  Region(std::span<std::byte> bytes, const layout::RegionMap& map, std::uint64_t extents);
  std::span<std::byte> bytes_;
  layout::RegionMap map_;
  Extents extents_;
};

}  // namespace namdb::memory
