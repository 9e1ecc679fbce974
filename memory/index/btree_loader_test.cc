// A tree that was loaded equals one that its keys were added to one by one, and changes like it afterwards.
#include "memory/index/btree_loader.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "common/base/random.h"

namespace namdb::memory {
namespace {

struct LoaderRegion {
  explicit LoaderRegion(std::uint64_t region_bytes = 4U << 20) {
    Options options;
    options.extent_bytes = 4096;
    options.vector_capacity = 4;
    memory.assign(region_bytes / 8, 0);
    region = std::move(*Region::create(std::as_writable_bytes(std::span(memory)), options, 1));
  }
  std::vector<std::uint64_t> memory;
  std::unique_ptr<Region> region;
};

std::vector<std::string> scanned(const BTree& tree, std::string_view low,
                                 std::optional<std::string_view> high, bool backward) {
  std::vector<std::string> found;
  tree.scan(low, high, backward, [&](std::string_view key) {
    found.emplace_back(key);
    return found.size() < 50;
  });
  return found;
}

// Keys of all lengths; long shared parts and sudden ends of these, so that common prefixes come and go.
std::string loader_key(Random& random, std::size_t longest) {
  std::string key;
  if (random.chance(0.7))
    key += std::string(random.below(longest - 8), static_cast<char>('a' + random.below(3)));
  const std::string number = std::to_string(random.below(5000));
  key += number;
  if (random.chance(0.1)) key += std::string(longest - key.size(), '\xff');
  return key;
}

}  // namespace

TEST_CASE("a loaded tree has the lookups and scans of one that was filled key by key", "[btree]") {
  std::uint32_t highest = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    const std::uint32_t page_bytes = random.chance(0.7) ? 512 : 1024;
    const std::size_t longest = layout::max_index_key_bytes(page_bytes);
    KeyRange range;
    if (random.chance(0.5)) range.low = "b";
    if (random.chance(0.5)) range.high = "c5";
    std::set<std::string> keys;
    const std::uint64_t wanted = random.below(seed % 5 == 0 ? 10 : 2500);
    for (std::uint64_t i = 0; i < wanted; ++i) {
      std::string key = loader_key(random, longest);
      if (range.covers(key)) keys.insert(std::move(key));
    }
    const LoaderRegion small;
    const auto filled = BTree::create(*small.region, {7, page_bytes, range});
    BTreeLoader loader(*small.region, {7, page_bytes, range},
                       50 + static_cast<std::uint32_t>(random.below(51)));
    for (const std::string& key : keys) {
      REQUIRE(filled->add(key) == BTree::Change::made);
      REQUIRE(loader.add(key).ok());
      if (random.chance(0.1)) REQUIRE(loader.add(key).ok());  // counts once
    }
    const auto loaded = loader.finish();
    REQUIRE(loaded != nullptr);
    REQUIRE(loaded->check().empty());
    REQUIRE(loaded->entries() == keys.size());
    highest = std::max(highest, loaded->height());
    for (int search = 0; search < 60; ++search) {
      const std::string low = random.chance(0.2) ? "" : loader_key(random, longest);
      std::optional<std::string> high;
      if (random.chance(0.8)) high = loader_key(random, longest);
      const bool backward = random.chance(0.5);
      REQUIRE(scanned(*loaded, low, high, backward) == scanned(*filled, low, high, backward));
    }
    // Changes that follow.
    for (int step = 0; step < 400; ++step) {
      const std::string key = loader_key(random, longest);
      if (!range.covers(key)) continue;
      REQUIRE(loaded->contains(key) == keys.contains(key));
      if (random.chance(0.5)) {
        const bool fresh = keys.insert(key).second;
        REQUIRE(loaded->add(key) == (fresh ? BTree::Change::made : BTree::Change::unchanged));
      } else {
        REQUIRE(loaded->remove(key) == (keys.erase(key) == 1));
      }
    }
    REQUIRE(loaded->check().empty());
  }
  CHECK(highest >= 4);
}

TEST_CASE("loaded pages are as full as asked for", "[btree]") {
  for (const std::uint32_t fill_percent : {50U, 90U, 100U}) {
    const LoaderRegion small;
    BTreeLoader loader(*small.region, {7, 4096, {}}, fill_percent);
    constexpr std::uint64_t kKeys = 20'000;
    constexpr std::uint64_t kKey_bytes = 16;
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      const std::string number = std::to_string(i);
      REQUIRE(loader.add(std::string(kKey_bytes - number.size(), '0') + number).ok());
    }
    const auto tree = loader.finish();
    REQUIRE(tree != nullptr);
    // Without the common prefix an entry takes between 5 and 20 bytes.
    const double pages = static_cast<double>(tree->page_count());
    CHECK(pages * 4096 * fill_percent / 100 < 1.1 * (kKey_bytes + 4) * kKeys);
    CHECK(pages * 4096 * fill_percent / 100 > 5.0 * kKeys);
  }
}

TEST_CASE("keys that are out of order, too long or in another part are refused", "[btree]") {
  const LoaderRegion small;
  const KeyRange range{"b", "d"};
  const auto refuses = [&](const std::string& key) {
    BTreeLoader loader(*small.region, {7, 512, range});
    REQUIRE(loader.add("bb").ok());
    return loader.add(key).code() == ErrorCode::corrupt_data;
  };
  CHECK(refuses("ba"));
  CHECK(refuses("d"));
  CHECK(refuses("c" + std::string(layout::max_index_key_bytes(512), 'x')));
  BTreeLoader loader(*small.region, {7, 512, range});
  CHECK(loader.add("a").code() == ErrorCode::corrupt_data);
}

TEST_CASE("a full region ends the load, and all pages come back", "[btree]") {
  const LoaderRegion small(64U << 10);
  const std::uint64_t before = small.region->blocks().free_bytes();
  {
    BTreeLoader loader(*small.region, {7, 512, {}});
    Status status;
    for (std::uint64_t i = 10'000; status.ok(); ++i) status = loader.add(std::to_string(i));
    CHECK(status.code() == ErrorCode::out_of_memory);
    CHECK(loader.finish() == nullptr);
  }
  CHECK(small.region->blocks().free_bytes() == before);
}

}  // namespace namdb::memory
