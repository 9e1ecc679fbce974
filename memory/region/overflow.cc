#include "memory/region/overflow.h"

namespace namdb::memory {

using layout::OverflowLink;

std::optional<OverflowLink> Overflow::allocate(OverflowLink newest, std::uint32_t entry_bytes) {
  std::uint64_t offset = newest.group(entry_bytes);
  auto found = groups_.find(offset);
  const bool has_group = used(newest, entry_bytes);
  const bool has_room =
      has_group && found->second.filled == newest.place() + 1 && found->second.filled < found->second.places;
  if (!has_room) {
    const auto group = allocate_group(layout::group_places(entry_bytes, !has_group), entry_bytes);
    if (!group) return std::nullopt;
    offset = group->first;
    found = groups_.insert_or_assign(offset, group->second).first;
  }
  Group& group = found->second;
  ++group.live;
  used_bytes_ += entry_bytes;
  return OverflowLink(offset, group.filled++, entry_bytes);
}

// Where nothing but the reserve for old versions is left, no place is taken that may stay empty.
std::optional<std::pair<std::uint64_t, Overflow::Group>> Overflow::allocate_group(std::uint32_t places,
                                                                                  std::uint32_t entry_bytes) {
  const ExtentAllocator& extents = region_.extents();
  if (region_.obtainable_bytes() <= extents.reserve() * extents.extent_bytes()) places = 1;
  for (; places > 0; places /= 2) {
    const auto slabs = classes_.try_emplace(places * entry_bytes).first;
    if (!slabs->second)
      slabs->second = std::make_unique<SlabAllocator>(region_, places * entry_bytes, Pieces::plain);
    if (const auto offset = slabs->second->allocate())
      return std::pair(*offset, Group{entry_bytes, static_cast<std::uint8_t>(places), 0, 0});
    if (slabs->second->used_count() == 0) classes_.erase(slabs);
  }
  return std::nullopt;
}

void Overflow::free(OverflowLink entry, std::uint32_t entry_bytes) {
  const std::uint64_t offset = entry.group(entry_bytes);
  const auto found = groups_.find(offset);
  NAMDB_CHECK(found != groups_.end() && found->second.live != 0);
  used_bytes_ -= entry_bytes;
  if (--found->second.live != 0) return;
  const auto slabs = classes_.find(found->second.places * entry_bytes);
  NAMDB_CHECK(slabs != classes_.end());
  groups_.erase(found);
  slabs->second->free(offset);
  if (slabs->second->used_count() == 0) classes_.erase(slabs);
}

bool Overflow::used(OverflowLink entry, std::uint32_t entry_bytes) const {
  const auto found = groups_.find(entry.group(entry_bytes));
  return found != groups_.end() && found->second.entry_bytes == entry_bytes &&
         entry.place() < found->second.filled;
}

std::uint64_t Overflow::spare_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [group_bytes, slabs] : classes_) bytes += slabs->used_bytes();
  return bytes - used_bytes_;
}

std::uint64_t Overflow::block_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [group_bytes, slabs] : classes_) bytes += slabs->block_bytes();
  return bytes;
}

}  // namespace namdb::memory
