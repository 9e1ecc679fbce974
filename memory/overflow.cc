#include "memory/overflow.h"

namespace namdb::memory {

std::optional<std::uint64_t> Overflow::allocate(std::uint32_t entry_bytes) {
  std::unique_ptr<Units>& units = classes_[entry_bytes];
  if (!units) units = std::make_unique<Units>(region_, entry_bytes, false);
  return units->allocate();
}

void Overflow::free(std::uint64_t entry, std::uint32_t entry_bytes) {
  const auto found = classes_.find(entry_bytes);
  NAMDB_CHECK(found != classes_.end());
  found->second->free(entry);
  if (found->second->used_count() == 0) classes_.erase(found);
}

bool Overflow::used(std::uint64_t entry, std::uint32_t entry_bytes) const {
  const auto found = classes_.find(entry_bytes);
  return found != classes_.end() && found->second->used(entry);
}

std::uint64_t Overflow::used_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [entry_bytes, units] : classes_) bytes += units->used_bytes();
  return bytes;
}

std::uint64_t Overflow::block_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [entry_bytes, units] : classes_) bytes += units->block_bytes();
  return bytes;
}

}  // namespace namdb::memory
