#include "compute/storage/location_cache.h"

namespace namdb::storage {

LocationCache::LocationCache(std::size_t capacity_bytes) : sets_(capacity_bytes / sizeof(Set)) {}

LocationCache::Set* LocationCache::set_of(std::uint64_t key_hash) const {
  if (sets_.empty()) return nullptr;
  // The bucket index uses the hash's high bits; mixing keeps keys of one bucket apart.
  const std::uint64_t mixed = key_hash * 0x9e3779b97f4a7c15ULL;
  return &sets_[static_cast<std::size_t>((static_cast<unsigned __int128>(mixed) * sets_.size()) >> 64)];
}

std::optional<std::uint64_t> LocationCache::find(std::uint64_t key_hash) const {
  const Set* set = set_of(key_hash);
  if (set == nullptr) return std::nullopt;
  for (std::size_t way = 0; way < kWays; ++way) {
    const std::uint64_t location = set->locations[way].load(std::memory_order_relaxed);
    if (location != 0 && (set->tags[way].load(std::memory_order_relaxed) ^ location) == key_hash)
      return location;
  }
  return std::nullopt;
}

void LocationCache::insert(std::uint64_t key_hash, std::uint64_t location) {
  Set* set = set_of(key_hash);
  if (set == nullptr) return;
  std::size_t victim = key_hash % kWays;
  for (std::size_t way = 0; way < kWays; ++way) {
    const std::uint64_t present = set->locations[way].load(std::memory_order_relaxed);
    const std::uint64_t hash = set->tags[way].load(std::memory_order_relaxed) ^ present;
    if (hash == key_hash && present == location) return;
    if (hash == key_hash) {
      victim = way;
      break;
    }
    if (present == 0) victim = way;
  }
  set->locations[victim].store(location, std::memory_order_relaxed);
  set->tags[victim].store(key_hash ^ location, std::memory_order_relaxed);
}

void LocationCache::erase(std::uint64_t key_hash) {
  Set* set = set_of(key_hash);
  if (set == nullptr) return;
  for (std::size_t way = 0; way < kWays; ++way) {
    const std::uint64_t location = set->locations[way].load(std::memory_order_relaxed);
    if ((set->tags[way].load(std::memory_order_relaxed) ^ location) == key_hash) {
      set->locations[way].store(0, std::memory_order_relaxed);
    }
  }
}

void LocationCache::clear() {
  for (Set& set : sets_) {
    for (auto& location : set.locations) location.store(0, std::memory_order_relaxed);
  }
}

}  // namespace namdb::storage
