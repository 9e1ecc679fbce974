#include "memory/index/btree.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "common/base/random.h"

namespace namdb::memory {
namespace btree_test {

constexpr std::uint32_t kPage_bytes = layout::kMinIndexPage_bytes;
using Model = std::set<std::string>;

struct SmallRegion {
  explicit SmallRegion(std::uint64_t region_bytes = 4U << 20, std::uint64_t extent_bytes = 4096) {
    Options options;
    options.extent_bytes = extent_bytes;
    options.vector_capacity = 4;
    memory.assign(region_bytes / 8, 0);
    region = std::move(*Region::create(std::as_writable_bytes(std::span(memory)), options, 1));
  }
  std::unique_ptr<BTree> tree(KeyRange range = {}, std::uint32_t page_bytes = kPage_bytes) const {
    return BTree::create(*region, {7, page_bytes, std::move(range)});
  }
  std::vector<std::uint64_t> memory;
  std::unique_ptr<Region> region;
};

std::string counted(std::uint64_t number) {
  std::string key(8, '\0');
  for (int i = 0; i < 8; ++i) key[static_cast<std::size_t>(i)] = static_cast<char>(number >> (56 - 8 * i));
  return key;
}

// Keys with long shared parts, of all lengths, that come again now and then.
std::string random_key(Random& random) {
  std::string key = "k";
  key += std::string(random.below(3) * 10, static_cast<char>('a' + random.below(2)));
  key += std::to_string(random.below(600));
  if (random.chance(0.1)) key += std::string(random.below(64 - key.size()), '\xff');
  return key;
}

std::vector<std::string> keys(const BTree& tree, std::string_view low = {},
                              std::optional<std::string_view> high = {}, bool backward = false,
                              std::size_t limit = ~std::size_t{0}) {
  std::vector<std::string> found;
  tree.scan(low, high, backward, [&](std::string_view key) {
    found.emplace_back(key);
    return found.size() < limit;
  });
  return found;
}

std::vector<std::string> expected(const Model& model, const std::string& low,
                                  const std::optional<std::string>& high, bool backward, std::size_t limit) {
  std::vector<std::string> found;
  for (auto key = model.lower_bound(low); key != model.end() && (!high || *key < *high); ++key) {
    found.push_back(*key);
  }
  if (backward) std::reverse(found.begin(), found.end());
  found.resize(std::min(found.size(), limit));
  return found;
}

// Pages that no READ may take for the tree's: those that are not in use.
void check_free_pages(const SmallRegion& small, const BTree& tree) {
  for (const Block& block : tree.pages().blocks()) {
    const std::uint64_t end = block.offset + block.bytes;
    for (std::uint64_t page = block.offset; page < end; page += kPage_bytes) {
      if (tree.pages().used(page)) continue;
      REQUIRE_FALSE(layout::IndexPageView({small.region->at(page), kPage_bytes})
                        .certified(small.region->address(page)));
    }
  }
}

void random_changes(Random& random, BTree& tree, Model& model, int steps, double share_of_adds) {
  for (int step = 0; step < steps; ++step) {
    std::string key = random_key(random);
    if (random.chance(share_of_adds)) {
      const bool fresh = model.insert(key).second;
      REQUIRE(tree.add(key) == (fresh ? BTree::Change::made : BTree::Change::unchanged));
    } else {
      // Half of the removals hit, whatever is there.
      if (const auto next = model.lower_bound(key); random.chance(0.5) && next != model.end()) key = *next;
      REQUIRE(tree.remove(key) == (model.erase(key) == 1));
    }
    REQUIRE(tree.entries() == model.size());
    REQUIRE(tree.contains(key) == model.contains(key));
  }
}

TEST_CASE("a tree equals an ordered set, while it grows and while it shrinks", "[btree]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const SmallRegion small;
    const auto tree = small.tree();
    Model model;
    std::uint32_t highest = 0;
    for (int phase = 0; phase < 12; ++phase) {
      random_changes(random, *tree, model, 300, phase % 4 < 2 ? 0.8 : 0.15);
      REQUIRE(tree->check().empty());
      check_free_pages(small, *tree);
      highest = std::max(highest, tree->height());
      for (int search = 0; search < 30; ++search) {
        const std::string low = random.chance(0.2) ? "" : random_key(random);
        std::optional<std::string> high;
        if (random.chance(0.8)) high = random_key(random);
        const bool backward = random.chance(0.5);
        const std::size_t limit = random.chance(0.5) ? 1 + random.below(20) : ~std::size_t{0};
        REQUIRE(keys(*tree, low, high, backward, limit) == expected(model, low, high, backward, limit));
      }
    }
    CHECK(highest >= 3);
    while (!model.empty()) {
      auto victim = model.lower_bound(random_key(random));
      if (victim == model.end()) victim = model.begin();
      REQUIRE(tree->remove(*victim));
      model.erase(victim);
    }
    REQUIRE(tree->check().empty());
    CHECK(tree->entries() == 0);
    CHECK(tree->page_count() < 8);
    check_free_pages(small, *tree);
  }
}

TEST_CASE("keys that are added together are those of a set, in any order", "[btree]") {
  const SmallRegion small;
  const auto tree = small.tree();
  Random random(5);
  Model model;
  for (int round = 0; round < 60; ++round) {
    tree->begin_adding();
    const std::uint64_t first = random.below(5000);
    for (std::uint64_t i = 0; i < 50; ++i) {
      // Neighbours, and now and then one that is elsewhere, or is there already.
      const std::string key = random.chance(0.1) ? random_key(random) : counted(first + i / 2);
      const bool fresh = model.insert(key).second;
      CHECK(tree->add(key) == (fresh ? BTree::Change::made : BTree::Change::unchanged));
    }
    tree->end_adding();
    REQUIRE(tree->check().empty());
    REQUIRE(tree->entries() == model.size());
    REQUIRE(keys(*tree) == std::vector<std::string>(model.begin(), model.end()));
  }
}

TEST_CASE("a queue, added to at one end and taken from the other, keeps few pages", "[btree]") {
  for (const bool descending : {false, true}) {
    const SmallRegion small;
    const auto tree = small.tree();
    const auto key_of = [&](std::uint64_t i) {
      return counted(descending ? ~i : i) + std::string(i % 7, 'x');
    };
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      REQUIRE(tree->add(key_of(i)) == BTree::Change::made);
      if (i >= 100) REQUIRE(tree->remove(key_of(i - 100)));
      REQUIRE(tree->page_count() < 20);
    }
    CHECK(tree->check().empty());
    CHECK(keys(*tree).size() == 100);
  }
}

TEST_CASE("keys in ascending order leave full pages behind", "[btree]") {
  const SmallRegion small;
  const auto tree = small.tree();
  constexpr std::uint64_t kKeys = 5000;
  for (std::uint64_t i = 0; i < kKeys; ++i) REQUIRE(tree->add(counted(i)) == BTree::Change::made);
  // A page's capacity if keys shared no bytes and it had no fences.
  const std::uint64_t per_page = (kPage_bytes - layout::kIndexPageHeader_bytes) / (8 + 4);
  CHECK(tree->page_count() <= kKeys / per_page * 115 / 100);
  CHECK(tree->check().empty());
}

TEST_CASE("keys as long as a page allows are split and found", "[btree]") {
  Random random(6);
  const SmallRegion small(16U << 20);
  const auto tree = small.tree();
  Model model;
  for (int i = 0; i < 2000; ++i) {
    std::string key(tree->max_key_bytes() - random.below(3), 'm');
    // Differences at the very end, so that separators are as long as keys.
    key.back() = static_cast<char>(random.next());
    key[key.size() - 2] = static_cast<char>(random.next());
    if (random.chance(0.3)) key = key.substr(0, random.below(4)) + static_cast<char>(random.next());
    model.insert(key);
    REQUIRE(tree->add(key) != BTree::Change::full);
  }
  CHECK(tree->check().empty());
  CHECK(keys(*tree) == std::vector<std::string>(model.begin(), model.end()));
  while (!model.empty()) {
    auto victim = model.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(random.below(std::min<std::size_t>(model.size(), 50))));
    REQUIRE(tree->remove(*victim));
    model.erase(victim);
    if (model.size() % 50 == 0) REQUIRE(tree->check().empty());
  }
}

TEST_CASE("a region that is full in the middle of a split leaves the tree whole", "[btree]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    // Sometimes one page is left where a split needs two or three.
    const SmallRegion small((12 + random.below(8)) * 4096);
    const auto tree = small.tree();
    REQUIRE(tree);
    Model model;
    int refused = 0;
    while (refused < 50) {
      const std::string key = random_key(random) + std::to_string(random.below(1000));
      const std::uint64_t free_before = small.region->extents().free_count();
      switch (tree->add(key)) {
        case BTree::Change::made:
          model.insert(key);
          break;
        case BTree::Change::unchanged:
          REQUIRE(model.contains(key));
          break;
        case BTree::Change::full:
          ++refused;
          REQUIRE_FALSE(model.contains(key));
          REQUIRE_FALSE(tree->contains(key));
          REQUIRE(small.region->extents().free_count() == free_before);
          REQUIRE(tree->check().empty());
      }
    }
    CHECK(keys(*tree) == std::vector<std::string>(model.begin(), model.end()));
    CHECK(small.region->extents().free_count() >= small.region->extents().reserve());
    // Room that comes back is used again.
    for (const std::string& key : Model(model)) {
      if (random.chance(0.9)) REQUIRE(tree->remove(key) == (model.erase(key) == 1));
    }
    CHECK(tree->add("another") == BTree::Change::made);
    CHECK(tree->check().empty());
  }
}

TEST_CASE("a tree takes the keys of its range up to both ends", "[btree]") {
  const SmallRegion small;
  const auto tree = small.tree({"c", "f"});
  for (const char* key : {"c", "czz", "d", "ezzzz", "e\xff\xff"}) {
    CHECK(tree->add(key) == BTree::Change::made);
    CHECK(tree->add(key) == BTree::Change::unchanged);
  }
  CHECK(keys(*tree, "", "zz").size() == 5);
  CHECK(keys(*tree, "", {}, true).front() == "e\xff\xff");
  CHECK(keys(*tree, "d", "d").empty());
  CHECK(keys(*tree, "z", "a", true).empty());
  CHECK_FALSE(tree->remove("cz"));
  CHECK(tree->check().empty());
}

TEST_CASE("a scan tells the leaf where it began and the page above", "[btree]") {
  const SmallRegion small;
  const auto tree = small.tree();
  for (std::uint64_t i = 0; i < 500; ++i) REQUIRE(tree->add(counted(i)) == BTree::Change::made);
  for (const bool backward : {false, true}) {
    const std::string low = counted(100);
    const std::string high = counted(300);
    const BTree::Place place = tree->scan(low, high, backward, [](std::string_view) { return true; });
    const layout::IndexPageView leaf({small.region->at(place.leaf_offset), kPage_bytes});
    const layout::IndexPageView parent({small.region->at(place.parent_offset), kPage_bytes});
    CHECK(leaf.leaf());
    CHECK(parent.level() == 1);
    CHECK(leaf.covers(backward ? counted(299) : low));
    CHECK(parent.child(parent.child_of(leaf.low())) == place.leaf_offset);
  }
}

TEST_CASE("no page of a wiped tree certifies, and all its memory comes back", "[btree]") {
  const SmallRegion small;
  const std::uint64_t before = small.region->extents().free_count();
  auto tree = small.tree();
  for (std::uint64_t i = 0; i < 2000; ++i) REQUIRE(tree->add(counted(i * 77)) == BTree::Change::made);
  const std::uint64_t pages = tree->page_count();
  const auto blocks = tree->pages().blocks();
  std::uint64_t steps = 0;
  while (tree->wipe(3)) ++steps;
  CHECK(steps == pages / 3);
  tree.reset();
  CHECK(small.region->extents().free_count() == before);
  for (const Block& block : blocks) {
    for (std::uint64_t at = block.offset; at < block.offset + block.bytes; at += 8)
      REQUIRE(small.region->load(at) == 0);
  }
}

TEST_CASE("the check of a tree notices a page that is damaged", "[btree]") {
  const SmallRegion small;
  const auto tree = small.tree();
  for (std::uint64_t i = 0; i < 500; ++i) REQUIRE(tree->add(counted(i)) == BTree::Change::made);
  REQUIRE(tree->check().empty());
  for (std::uint64_t page = tree->pages().next_used(0); page != 0; page = tree->pages().next_used(page)) {
    const std::uint64_t word = small.region->load(page + 128);
    small.region->store(page + 128, word ^ 1);
    CHECK_FALSE(tree->check().empty());
    small.region->store(page + 128, word);
  }
}

}  // namespace btree_test
}  // namespace namdb::memory
