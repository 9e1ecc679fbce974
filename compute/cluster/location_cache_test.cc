#include "compute/cluster/location_cache.h"

#include <catch2/catch.hpp>

#include "common/base/random.h"

namespace namdb::storage {

using layout::BucketEntry;

TEST_CASE("a location that was inserted is found until it is erased or the cache is cleared",
          "[location-cache]") {
  LocationCache cache(1 << 20);
  CHECK_FALSE(cache.find(42));
  cache.insert(BucketEntry::make(42, 64, 7));
  CHECK(cache.find(42) == CachedLocation{64, 7});
  cache.insert(BucketEntry::make(42, 128, 0x109));
  CHECK(cache.find(42) == CachedLocation{128, 9});
  cache.erase(42);
  CHECK_FALSE(cache.find(42));
  cache.insert(BucketEntry::make(42, 64, 7));
  cache.clear();
  CHECK_FALSE(cache.find(42));
}

TEST_CASE("a full cache forgets but hardly ever answers with another key's location", "[location-cache]") {
  LocationCache cache(4096);
  Random random(3);
  const auto entry_of = [](std::uint64_t hash) { return BucketEntry::make(hash, (hash >> 30) * 8, 1); };
  std::uint64_t lost = 0;
  std::uint64_t wrong = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t hash = random.next();
    cache.insert(entry_of(hash));
    const auto own = cache.find(hash);
    if (!own || own->offset != entry_of(hash).offset()) ++lost;
    const std::uint64_t other = random.next();
    if (const auto location = cache.find(other); location && location->offset != entry_of(other).offset())
      ++wrong;
  }
  CHECK(lost == 0);
  CHECK(wrong < 100);  // 8 of 65,536 of the other hashes have the tag of some key in their set
}

TEST_CASE("keys that come again stay although many come once", "[location-cache]") {
  LocationCache cache(64 * 64);
  Random random(5);
  const BucketEntry hot = BucketEntry::make(random.next(), 64, 1);
  cache.insert(hot);
  std::uint64_t missed = 0;
  for (int i = 0; i < 10'000; ++i) {
    cache.insert(BucketEntry::make(random.next(), 128, 1));
    cache.offer(BucketEntry::make(random.next(), 128, 1));
    if (i % 64 != 0) continue;
    if (!cache.find(hot.key_hash)) {
      ++missed;
      cache.insert(hot);
    }
  }
  CHECK(missed < 10);
}

TEST_CASE("a key that is only offered pushes nobody out", "[location-cache]") {
  LocationCache cache(64);  // one set
  Random random(7);
  std::vector<BucketEntry> held;
  for (std::uint64_t i = 1; i <= 8; ++i) held.push_back(BucketEntry::make(random.next(), 64 * i, 1));
  for (const BucketEntry& entry : held) cache.offer(entry);
  const BucketEntry late = BucketEntry::make(random.next(), 1024, 1);
  cache.offer(late);
  CHECK_FALSE(cache.find(late.key_hash));
  for (const BucketEntry& entry : held) CHECK(cache.find(entry.key_hash)->offset == entry.offset());
}

TEST_CASE("a set has room until each of its places is taken, and again when a key has gone",
          "[location-cache]") {
  LocationCache cache(64);  // one set
  Random random(9);
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t i = 1; i <= 8; ++i) {
    CHECK(cache.has_room(random.next()));
    hashes.push_back(random.next());
    cache.offer(BucketEntry::make(hashes.back(), 64 * i, 1));
  }
  CHECK_FALSE(cache.has_room(random.next()));
  cache.erase(hashes.front());
  CHECK(cache.has_room(random.next()));
}

TEST_CASE("an offset beyond what a word holds is not remembered", "[location-cache]") {
  LocationCache cache(4096);
  cache.insert(BucketEntry::make(42, std::uint64_t{1} << 43, 1));
  CHECK_FALSE(cache.find(42));
  cache.insert(BucketEntry::make(42, (std::uint64_t{1} << 43) - 8, 1));
  CHECK(cache.find(42) == CachedLocation{(std::uint64_t{1} << 43) - 8, 1});
}

TEST_CASE("a cache of no bytes remembers nothing", "[location-cache]") {
  LocationCache cache(0);
  cache.insert(BucketEntry::make(1, 64, 1));
  CHECK_FALSE(cache.find(1));
  CHECK_FALSE(cache.has_room(1));
}

}  // namespace namdb::storage
