// The location cache under threads that insert, find, offer, erase and clear the same sets: a location that
// is found is one that was put there whole, of a key with this tag.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "common/base/random.h"
#include "compute/cluster/location_cache.h"

namespace namdb::storage {
namespace {

constexpr std::uint64_t kKeys = 200;

struct Keys {
  Keys() {
    Random random(1);
    for (std::uint64_t& hash : hashes) hash = random.next();
  }
  std::array<std::uint64_t, kKeys> hashes;
};

// Incarnation and offset follow from each other and from the key, so that a mixture shows.
layout::BucketEntry entry_of(const Keys& keys, std::uint64_t key, std::uint64_t incarnation) {
  return layout::BucketEntry::make(keys.hashes[key], (key * 256 + incarnation) * 8,
                                   static_cast<std::uint32_t>(incarnation));
}

}  // namespace

TEST_CASE("threads that share the cache never find a location that nobody put there") {
  const Keys keys;
  LocationCache cache(1024);
  std::atomic<std::uint64_t> found{0};
  std::atomic<std::uint64_t> mixed{0};
  std::vector<std::thread> threads;
  for (std::uint64_t number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      Random random(number);
      for (int i = 0; i < 50'000; ++i) {
        const std::uint64_t key = random.below(kKeys);
        const layout::BucketEntry entry = entry_of(keys, key, random.below(256));
        const std::uint64_t action = random.below(100);
        if (action < 30) cache.insert(entry);
        if (action >= 30 && action < 40) cache.offer(entry);
        if (action >= 40 && action < 45) cache.erase(keys.hashes[key]);
        if (action == 45 && i % 64 == 0) cache.clear();
        if (action <= 45) continue;
        const auto location = cache.find(keys.hashes[key]);
        if (!location) continue;
        found.fetch_add(1, std::memory_order_relaxed);
        const std::uint64_t word = location->offset / 8;
        if (word / 256 != key || word % 256 != location->incarnation)
          mixed.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(found > 1000);
  CHECK(mixed == 0);
}

}  // namespace namdb::storage
