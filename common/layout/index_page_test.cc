#include "common/layout/index_page.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "common/base/random.h"
#include "common/layout/record.h"

namespace namdb::layout {
namespace {

// Bytes of a page, aligned as a region's are.
struct Page {
  explicit Page(std::size_t bytes = kMinIndexPage_bytes) : words(bytes / 8) {}
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words)); }
  IndexPageWriter writer() { return IndexPageWriter(bytes()); }
  IndexPageView view() { return IndexPageView(bytes()); }
  std::vector<std::uint64_t> words;
};

const GlobalAddress kPlace(1, 8192);

}  // namespace

TEST_CASE("the bytes of an index page are as format version 1 has them", "[index]") {
  Page page;
  const std::vector<IndexPageEntry> entries{{"ab1", 64}, {"ab2x", 128}};
  REQUIRE(page.writer().build({7, 1, 4096, "ab1", "ab9"}, entries));
  page.writer().seal(kPlace);
  CHECK(page.words[1] == 0x0002'0001'00000007ULL);
  CHECK(page.words[2] == 4096);
  CHECK(page.words[3] == 0x01e3'0002'0003'0003ULL);
  CHECK(page.words[4] == 0);
  CHECK(page.words[5] == 0x01e3'01efULL);
  const auto bytes = page.bytes();
  CHECK(std::memcmp(bytes.data() + 506, "ab9ab1", 6) == 0);
  CHECK(std::memcmp(bytes.data() + 0x1ef,
                    "\1\0"
                    "1\x40\0\0\0\0\0\0\0",
                    11) == 0);
  CHECK(std::memcmp(bytes.data() + 0x1e3,
                    "\2\0"
                    "2x\x80\0\0\0\0\0\0\0",
                    12) == 0);
  CHECK(page.words[0] == 0xe62c8943af6c4fa7ULL);
}

TEST_CASE("a READ of an index page that mixes two images at any word is noticed", "[index]") {
  Random random(3);
  Page before;
  REQUIRE(before.writer().build({9, 0, 0, "a", "z"}, {}));
  for (int i = 0; i < 12; ++i) {
    std::string key = "k" + std::to_string(random.next() % 100000);
    const std::size_t at = before.view().lower_bound(key);
    if (!before.view().holds(at, key)) REQUIRE(before.writer().insert(at, key));
  }
  before.writer().seal(kPlace);
  REQUIRE(before.view().certified(kPlace));
  CHECK_FALSE(before.view().certified(kPlace + 8));
  Page after = before;
  REQUIRE(after.writer().insert(5, before.view().key(5).substr(0, 3)));
  after.writer().seal(kPlace);
  int differing = 0;
  for (std::size_t cut = 1; cut < before.words.size(); ++cut) {
    for (const bool front : {true, false}) {
      Page torn = front ? before : after;
      const Page& rest = front ? after : before;
      std::copy(rest.words.begin() + static_cast<std::ptrdiff_t>(cut), rest.words.end(),
                torn.words.begin() + static_cast<std::ptrdiff_t>(cut));
      const bool whole = torn.words == before.words || torn.words == after.words;
      CHECK(torn.view().certified(kPlace) == whole);
      differing += static_cast<int>(!whole);
    }
  }
  CHECK(differing > 50);
  // One word of another image, wherever it stands.
  for (std::size_t i = 0; i < before.words.size(); ++i) {
    Page torn = before;
    torn.words[i] = after.words[i];
    CHECK(torn.view().certified(kPlace) == (after.words[i] == before.words[i]));
  }
}

TEST_CASE("a page that was never written or that is free does not certify", "[index]") {
  Page page;
  CHECK_FALSE(page.view().certified(kPlace));
  page.writer().seal(kPlace);
  CHECK_FALSE(page.view().certified(kPlace));
}

TEST_CASE("random inserts and erasures leave a page like an ordered set, to its last byte", "[index]") {
  Random random(4);
  Page page;
  REQUIRE(page.writer().build({9, 0, 0, "aa", "ab"}, {}));
  std::set<std::string> model;
  int refused = 0;
  for (int step = 0; step < 4000; ++step) {
    std::string key = "aa" + std::string(random.below(40), 'x') + std::to_string(random.below(50));
    const std::size_t at = page.view().lower_bound(key);
    REQUIRE(at == static_cast<std::size_t>(std::distance(model.begin(), model.lower_bound(key))));
    REQUIRE(page.view().holds(at, key) == model.contains(key));
    if (random.chance(step % 1000 < 600 ? 0.7 : 0.3)) {
      if (model.contains(key)) continue;
      const std::size_t needed = page.view().used_bytes() + 2 + 2 + key.size() - 1;
      const bool fits = page.writer().insert(at, key);
      REQUIRE(fits == (needed <= kMinIndexPage_bytes));
      if (fits) model.insert(key);
      refused += static_cast<int>(!fits);
    } else if (model.contains(key)) {
      page.writer().erase(at);
      model.erase(key);
    }
    REQUIRE(page.view().valid());
    REQUIRE(page.view().count() == model.size());
  }
  std::size_t i = 0;
  for (const std::string& key : model) CHECK(page.view().key(i++) == key);
  CHECK(refused > 100);
}

TEST_CASE("an inner page finds the child that holds a key", "[index]") {
  Page page;
  const std::vector<IndexPageEntry> entries{{"b", 8}, {"d", 16}, {"f", 24}};
  REQUIRE(page.writer().build({9, 1, 0, "b", std::nullopt}, entries));
  REQUIRE(page.view().valid());
  CHECK(page.view().child(page.view().child_of("a")) == 8);
  CHECK(page.view().child(page.view().child_of("b")) == 8);
  CHECK(page.view().child(page.view().child_of("cz")) == 8);
  CHECK(page.view().child(page.view().child_of("d")) == 16);
  CHECK(page.view().child(page.view().child_of("zz")) == 24);
  CHECK(page.view().covers("zz"));
  CHECK_FALSE(page.view().covers("a"));
}

TEST_CASE("a page that cannot hold its entries says so", "[index]") {
  Page page;
  std::vector<IndexPageEntry> entries;
  for (char c = 'a'; c <= 'z'; ++c) entries.push_back({std::string(64, c), 8});
  CHECK_FALSE(page.writer().build({9, 1, 0, "a", std::nullopt}, entries));
}

TEST_CASE("the check of a page stays within it, whichever bytes stand there", "[index]") {
  Random random(5);
  Page sound;
  const std::vector<IndexPageEntry> entries{{"b", 8}, {"d", 16}, {"f", 24}};
  REQUIRE(sound.writer().build({9, 1, 0, "b", "g"}, entries));
  REQUIRE(sound.view().valid());
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    Page page = sound;
    for (std::uint64_t i = 1 + random.below(3); i > 0; --i) {
      const std::size_t at = random.chance(0.8) ? 8 + random.below(40) : random.below(kMinIndexPage_bytes);
      page.bytes()[at] = static_cast<std::byte>(random.next());
    }
    refused += static_cast<int>(!page.view().valid());
  }
  CHECK(refused > 10000);
}

}  // namespace namdb::layout
