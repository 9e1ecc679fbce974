#include "compute/cluster/index_cache.h"

#include <catch2/catch.hpp>

namespace namdb::storage {
namespace {

using layout::IndexPageEntry;
using Offsets = std::vector<std::uint64_t>;

constexpr std::uint32_t kIndex = 7;
constexpr std::size_t kPlenty_bytes = 1U << 20;

// A page of level 1 with children at 8, 16, ... whose keys begin with those, the first with the low fence.
void learn(IndexCache& cache, std::string low, std::optional<std::string> high, std::vector<std::string> keys,
           std::uint64_t first_offset, std::uint32_t index = kIndex) {
  std::vector<std::uint64_t> words(layout::kMinIndexPage_bytes / 8);
  layout::IndexPageWriter writer(std::as_writable_bytes(std::span(words)));
  std::vector<IndexPageEntry> entries{{low, first_offset}};
  for (std::string& key : keys) entries.push_back({std::move(key), entries.back().child + 8});
  REQUIRE(writer.build({index, 1, 0, std::move(low), std::move(high)}, entries));
  cache.learn(writer.view());
}

}  // namespace

TEST_CASE("the leaves of a range are those that hold its keys, in either order", "[index-cache]") {
  IndexCache cache(kPlenty_bytes);
  learn(cache, "", "m", {"d", "g"}, 8);        // "" d g
  learn(cache, "m", std::nullopt, {"r"}, 80);  // m r
  CHECK(cache.leaves(kIndex, "", {}, false, 9) == Offsets{8, 16, 24, 80, 88});
  CHECK(cache.leaves(kIndex, "", {}, true, 9) == Offsets{88, 80, 24, 16, 8});
  CHECK(cache.leaves(kIndex, "d", "g", false, 9) == Offsets{16});
  CHECK(cache.leaves(kIndex, "d", "g", true, 9) == Offsets{16});
  CHECK(cache.leaves(kIndex, "e", "n", false, 9) == Offsets{16, 24, 80});
  CHECK(cache.leaves(kIndex, "e", "n", true, 9) == Offsets{80, 24, 16});
  CHECK(cache.leaves(kIndex, "e", "m", true, 9) == Offsets{24, 16});
  CHECK(cache.leaves(kIndex, "z", {}, false, 9) == Offsets{88});
  CHECK(cache.leaves(kIndex, "", {}, false, 2) == Offsets{8, 16});
  CHECK(cache.leaves(kIndex, "", {}, true, 2) == Offsets{88, 80});
  CHECK(cache.leaves(kIndex + 1, "", {}, false, 9).empty());
}

TEST_CASE("keys behind a gap in the cached pages are not known", "[index-cache]") {
  IndexCache cache(kPlenty_bytes);
  learn(cache, "d", "g", {}, 8);
  learn(cache, "m", "r", {}, 80);
  CHECK(cache.leaves(kIndex, "a", {}, false, 9).empty());
  CHECK(cache.leaves(kIndex, "e", {}, false, 9) == Offsets{8});
  CHECK(cache.leaves(kIndex, "h", {}, false, 9).empty());
  CHECK(cache.leaves(kIndex, "a", {}, true, 9).empty());
  CHECK(cache.leaves(kIndex, "a", "r", true, 9) == Offsets{80});
  CHECK(cache.leaves(kIndex, "a", "s", true, 9).empty());
  CHECK(cache.leaves(kIndex, "a", "g", true, 9) == Offsets{8});
}

TEST_CASE("a page that is learned replaces those that it overlaps", "[index-cache]") {
  IndexCache cache(kPlenty_bytes);
  cache.learn_leaf(kIndex, "", {}, 8);
  CHECK(cache.leaves(kIndex, "x", {}, false, 9) == Offsets{8});
  learn(cache, "", "m", {"f"}, 16);
  CHECK(cache.leaves(kIndex, "x", {}, false, 9).empty());
  learn(cache, "m", {}, {}, 80);
  learn(cache, "k", "p", {}, 160);
  CHECK(cache.leaves(kIndex, "a", {}, false, 9).empty());
  CHECK(cache.leaves(kIndex, "k", {}, false, 9) == Offsets{160});
  CHECK(cache.leaves(kIndex, "q", {}, false, 9).empty());
}

TEST_CASE("the cache stays within its bytes", "[index-cache]") {
  IndexCache cache(600);
  for (int i = 0; i < 100; ++i) {
    const std::string low = "key" + std::to_string(1000 + i);
    learn(cache, low, low + "5", {low + "1"}, 8, kIndex + i % 3);
    CHECK(cache.used_bytes() <= 600);
    CHECK(cache.leaves(kIndex + i % 3, low, low + "5", false, 9) == Offsets{8, 16});
  }
  IndexCache none(0);
  learn(none, "", {}, {}, 8);
  CHECK(none.leaves(kIndex, "", {}, false, 9).empty());
  CHECK(none.used_bytes() == 0);
}

}  // namespace namdb::storage
