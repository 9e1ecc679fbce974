#include "memory/region/region.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/fabric/region_words.h"
#include "common/layout/order_lanes.h"
#include "common/layout/record.h"
#include "common/layout/timestamp_vector.h"
#include "common/protocols/protocol.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

Status bad(std::string message) {
  return Status(ErrorCode::configuration, std::move(message));
}

}  // namespace

Result<std::unique_ptr<Region>> Region::create(std::span<std::byte> bytes, const Options& options,
                                               std::uint64_t epoch, std::uint64_t limit_bytes) {
  const std::uint64_t extent = options.extent_bytes;
  if (extent < layout::kRegionMap_bytes || (extent & (extent - 1)) != 0 || extent > (1ULL << 30)) {
    return bad("the extent size must be a power of two from 4 KiB to 1 GiB");
  }
  if (options.server_count == 0 || options.server_id >= options.server_count) {
    return bad("the server id must be smaller than the number of servers");
  }
  if (options.ring_slots == 0 || options.ring_slots > layout::kMaxRingSlots) {
    return bad("the number of ring versions must be from 1 to " + std::to_string(layout::kMaxRingSlots));
  }
  if (protocol::find_protocol(options.protocol) == nullptr) {
    return bad("there is no protocol \"" + options.protocol + "\"");
  }
  if (options.vector_capacity == 0 || options.journal_bytes == 0 || options.step_units == 0) {
    return bad("vector capacity, journal size and step must not be 0");
  }
  layout::RegionMap map{};
  map.magic = layout::kRegionMagic;
  map.format_version = layout::kRegionFormatVersion;
  map.server_id = options.server_id;
  map.epoch = epoch;
  map.limit_bytes = std::max<std::uint64_t>(limit_bytes, bytes.size());
  map.extent_bytes = extent;
  std::uint64_t used = layout::kRegionMap_bytes;
  if (const layout::VectorParts parts = options.vector_parts(); parts.has(options.server_id)) {
    map.vector_offset = used;
    map.vector_capacity = parts.capacity(options.vector_capacity);
    used += layout::vector_bytes(map.vector_capacity);
  }
  if (options.server_id == 0 && protocol::find_protocol(options.protocol)->ordered)
    used = layout::order_lanes_offset(map.vector_offset, map.vector_capacity) + layout::kOrderLanes_bytes;
  map.first_extent_offset = round_up(used, extent);
  if (bytes.size() < map.first_extent_offset + extent) {
    return bad("a region of " + std::to_string(bytes.size()) + " bytes is too small: it needs at least " +
               std::to_string(map.first_extent_offset + extent));
  }
  if (map.limit_bytes > layout::GlobalAddress::kOffsetMask) return bad("the region is too large");
  map.seal();
  const std::uint64_t extents = (bytes.size() - map.first_extent_offset) / extent;
  auto region = std::unique_ptr<Region>(new Region(bytes, map, extents));
  region->write(0, std::as_bytes(std::span(&map, 1)));
  return region;
}

Region::Region(std::span<std::byte> bytes, const layout::RegionMap& map, std::uint64_t extents)
    : base_(bytes.data()),
      length_bytes_(bytes.size()),
      first_bytes_(bytes.size()),
      map_(map),
      extents_(map.first_extent_offset, map.extent_bytes, extents),
      blocks_(extents_),
      changed_(map.extent_bytes) {}

void Region::set_lengthen(Lengthen lengthen) {
  lengthen_ = std::move(lengthen);
  extents_.set_source([this](std::uint64_t extents) { return grow(extents); });
}

std::uint64_t Region::obtainable_bytes() const {
  if (!lengthen_) return blocks_.free_bytes();
  const std::uint64_t most = (limit_bytes() - map_.first_extent_offset) / map_.extent_bytes;
  return blocks_.free_bytes() + (most - extents_.count()) * map_.extent_bytes;
}

bool Region::grow(std::uint64_t extents) {
  const std::uint64_t extents_end_bytes = map_.first_extent_offset + extents_.count() * map_.extent_bytes;
  if (extents > (limit_bytes() - extents_end_bytes) / map_.extent_bytes) return false;
  const std::uint64_t needed_bytes = extents_end_bytes + extents * map_.extent_bytes;
  const std::uint64_t step_bytes = std::min(length_bytes_ / 16, kGrowthStep_bytes);
  const std::uint64_t wanted_bytes = round_up(length_bytes_ + step_bytes, map_.extent_bytes);
  const Result<std::uint64_t> length_bytes =
      lengthen_(std::max(needed_bytes, std::min(wanted_bytes, limit_bytes())));
  if (!length_bytes.ok()) return false;
  NAMDB_CHECK(*length_bytes >= needed_bytes && *length_bytes <= limit_bytes() && *length_bytes % 8 == 0);
  length_bytes_ = *length_bytes;
  extents_.add((length_bytes_ - extents_end_bytes) / map_.extent_bytes);
  return true;
}

std::uint64_t Region::load(std::uint64_t offset) const {
  return fabric::region_word(at(offset)).load(std::memory_order_acquire);
}

void Region::store(std::uint64_t offset, std::uint64_t word) const {
  fabric::region_word(at(offset)).store(word, std::memory_order_release);
}

bool Region::compare_exchange(std::uint64_t offset, std::uint64_t expected, std::uint64_t desired) const {
  return fabric::region_word(at(offset)).compare_exchange_strong(expected, desired);
}

void Region::read(std::uint64_t offset, std::span<std::byte> destination) const {
  fabric::copy_from_region(destination.data(), at(offset), destination.size());
}

void Region::write(std::uint64_t offset, std::span<const std::byte> source) const {
  fabric::copy_to_region(at(offset), source.data(), source.size());
}

void Region::zero(std::uint64_t offset, std::uint64_t length_bytes) const {
  for (std::uint64_t i = 0; i < length_bytes; i += 8) {
    fabric::region_word(at(offset + i)).store(0, std::memory_order_release);
  }
}

std::uint64_t Region::catalog_version_offset() const {
  return map_.vector_offset + layout::kVectorCatalog_offset;
}

std::uint64_t Region::vector_length() const {
  return load(map_.vector_offset + layout::kVectorLength_offset);
}

layout::HeaderWord Region::vector_word(std::uint64_t index) const {
  return layout::HeaderWord(load(map_.vector_offset + layout::kVectorWords_offset + 8 * index));
}

void Region::set_vector_word(std::uint64_t index, layout::Stamp stamp) const {
  NAMDB_CHECK(index < map_.vector_capacity);
  // Word before length: no copy of the new length lacks the slot.
  store(map_.vector_offset + layout::kVectorWords_offset + 8 * index, layout::HeaderWord(stamp).value());
  if (index >= vector_length()) store(map_.vector_offset + layout::kVectorLength_offset, index + 1);
}

void Region::shorten_vector(std::uint64_t length) const {
  const std::uint64_t before = vector_length();
  if (length >= before) return;
  store(map_.vector_offset + layout::kVectorLength_offset, length);
  for (std::uint64_t index = length; index < before; ++index) {
    store(map_.vector_offset + layout::kVectorWords_offset + 8 * index, 0);
  }
}

}  // namespace namdb::memory
