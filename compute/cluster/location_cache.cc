#include "compute/cluster/location_cache.h"

#include <sys/mman.h>

#include <algorithm>

#include "common/base/check.h"

namespace namdb::storage {
namespace {

// One of `count`, a power of two, that cannot be foreseen without all words of the set.
std::size_t some_way(std::uint64_t word, std::size_t count) {
  return static_cast<std::size_t>((word * 0xd6e8feb86659fd93ULL) >> 60) & (count - 1);
}

}  // namespace

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

std::optional<CachedLocation> LocationCache::find(std::uint64_t key_hash) {
  const Place place = place_of(key_hash);
  if (sets_ == nullptr) return std::nullopt;
  auto& words = place.set->words;
  for (std::size_t way = 0; way < kWays; ++way) {
    const std::uint64_t word = words[way].load(std::memory_order_relaxed);
    if (word == 0 || (word ^ place.tag) >> kTagShift != 0) continue;
    if (way >= kHalf) {
      auto& other = words[some_way(word, kHalf)];
      words[way].store(other.load(std::memory_order_relaxed), std::memory_order_relaxed);
      other.store(word, std::memory_order_relaxed);
    }
    return CachedLocation{(word & kOffsetMask) * 8, static_cast<std::uint8_t>(word >> kIncarnationShift)};
  }
  return std::nullopt;
}

void LocationCache::insert(const layout::BucketEntry& entry) {
  put(entry, true);
}

void LocationCache::offer(const layout::BucketEntry& entry) {
  put(entry, false);
}

bool LocationCache::has_room(std::uint64_t key_hash) const {
  if (sets_ == nullptr) return false;
  return std::ranges::any_of(place_of(key_hash).set->words, [](const std::atomic<std::uint64_t>& word) {
    return word.load(std::memory_order_relaxed) == 0;
  });
}

void LocationCache::put(const layout::BucketEntry& entry, bool replace) {
  const Place place = place_of(entry.key_hash);
  if (sets_ == nullptr || entry.offset() / 8 > kOffsetMask) return;
  const std::uint64_t incarnation = static_cast<std::uint8_t>(entry.incarnation());
  const std::uint64_t word = place.tag | incarnation << kIncarnationShift | entry.offset() / 8;
  auto& words = place.set->words;
  std::size_t victim = kWays;
  for (std::size_t way = 0; way < kWays; ++way) {
    const std::uint64_t present = words[way].load(std::memory_order_relaxed);
    if (present == word) return;
    if (present != 0 && (present ^ place.tag) >> kTagShift == 0) {
      victim = way;
      break;
    }
    if (present == 0) victim = way;
  }
  if (victim == kWays) {
    if (!replace) return;
    victim = kHalf + some_way(word ^ words[kHalf].load(std::memory_order_relaxed), kWays - kHalf);
  }
  words[victim].store(word, std::memory_order_relaxed);
}

void LocationCache::erase(std::uint64_t key_hash) {
  const Place place = place_of(key_hash);
  if (sets_ == nullptr) return;
  for (auto& slot : place.set->words) {
    std::uint64_t word = slot.load(std::memory_order_relaxed);
    if (word != 0 && (word ^ place.tag) >> kTagShift == 0) slot.store(0, std::memory_order_relaxed);
  }
}

void LocationCache::clear() {
  for (std::size_t i = 0; i < set_count_; ++i) {
    for (auto& word : sets_[i].words) word.store(0, std::memory_order_relaxed);
  }
}

}  // namespace namdb::storage
