#include "compute/storage/location_cache.h"

#include <sys/mman.h>

#include "common/base/check.h"

namespace namdb::storage {

// Zero pages, huge ones where the kernel has them: a lookup is a random access, and pays for its page too.
LocationCache::LocationCache(std::size_t capacity_bytes) : set_count_(capacity_bytes / sizeof(Set)) {
  if (set_count_ == 0) return;
  void* memory =
      ::mmap(nullptr, set_count_ * sizeof(Set), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  NAMDB_CHECK(memory != MAP_FAILED);
  ::madvise(memory, set_count_ * sizeof(Set), MADV_HUGEPAGE);
  sets_ = static_cast<Set*>(memory);
}

LocationCache::~LocationCache() {
  if (sets_ != nullptr) ::munmap(sets_, set_count_ * sizeof(Set));
}

std::optional<std::uint64_t> LocationCache::find(std::uint64_t key_hash) const {
  const Set* set = set_of(key_hash);
  if (sets_ == nullptr) return std::nullopt;
  for (std::size_t way = 0; way < kWays; ++way) {
    const std::uint64_t location = set->locations[way].load(std::memory_order_relaxed);
    if (location != 0 && (set->tags[way].load(std::memory_order_relaxed) ^ location) == key_hash)
      return location;
  }
  return std::nullopt;
}

void LocationCache::insert(std::uint64_t key_hash, std::uint64_t location) {
  Set* set = set_of(key_hash);
  if (sets_ == nullptr) return;
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
  if (sets_ == nullptr) return;
  for (std::size_t way = 0; way < kWays; ++way) {
    const std::uint64_t location = set->locations[way].load(std::memory_order_relaxed);
    if ((set->tags[way].load(std::memory_order_relaxed) ^ location) == key_hash) {
      set->locations[way].store(0, std::memory_order_relaxed);
    }
  }
}

void LocationCache::clear() {
  for (std::size_t i = 0; i < set_count_; ++i) {
    for (auto& location : sets_[i].locations) location.store(0, std::memory_order_relaxed);
  }
}

}  // namespace namdb::storage
