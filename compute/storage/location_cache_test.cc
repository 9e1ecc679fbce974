#include "compute/storage/location_cache.h"

#include <catch2/catch.hpp>

#include "common/base/random.h"

namespace namdb::storage {

TEST_CASE("a location that was inserted is found until it is erased or the cache is cleared",
          "[location-cache]") {
  LocationCache cache(1 << 20);
  CHECK_FALSE(cache.find(42));
  cache.insert(42, 7);
  CHECK(cache.find(42) == std::uint64_t{7});
  cache.insert(42, 9);
  CHECK(cache.find(42) == std::uint64_t{9});
  cache.erase(42);
  CHECK_FALSE(cache.find(42));
  cache.insert(42, 7);
  cache.clear();
  CHECK_FALSE(cache.find(42));
}

TEST_CASE("a full cache forgets but never answers with another key's location", "[location-cache]") {
  LocationCache cache(4096);
  Random random(3);
  std::uint64_t found = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t hash = random.next();
    cache.insert(hash, hash | 1);
    const std::uint64_t other = random.next();
    if (const auto location = cache.find(other)) CHECK(*location == (other | 1));
    if (cache.find(hash)) ++found;
  }
  CHECK(found == 10'000);
}

TEST_CASE("a cache of no bytes remembers nothing", "[location-cache]") {
  LocationCache cache(0);
  cache.insert(1, 2);
  CHECK_FALSE(cache.find(1));
}

}  // namespace namdb::storage
