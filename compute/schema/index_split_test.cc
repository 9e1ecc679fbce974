#include "compute/schema/index_split.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "common/base/random.h"

namespace namdb::schema {
namespace {

// How many of the keys each part has.
std::vector<std::size_t> share(const std::vector<std::string>& keys, const std::vector<std::string>& splits) {
  std::vector<std::size_t> counts(splits.size() + 1);
  for (const std::string& key : keys) {
    const auto behind = std::ranges::upper_bound(splits, key);
    ++counts[static_cast<std::size_t>(behind - splits.begin())];
  }
  return counts;
}

TEST_CASE("splits give each part as many of the sampled keys", "[index_split]") {
  Random draw(1);
  for (const std::size_t parts : {2U, 3U, 7U, 16U}) {
    std::vector<std::string> keys;
    for (int i = 0; i < 4000; ++i) {
      std::string key;
      for (int byte = 0; byte < 8; ++byte) key += static_cast<char>(draw.below(256));
      keys.push_back(key);
    }
    const std::vector<std::string> splits = choose_splits(keys, parts);
    REQUIRE(splits.size() == parts - 1);
    for (const std::size_t count : share(keys, splits)) {
      CHECK(count >= keys.size() / parts - 1);
      CHECK(count <= keys.size() / parts + 1);
    }
  }
}

TEST_CASE("a split is the shortest prefix that tells two keys apart, compared as unsigned bytes",
          "[index_split]") {
  CHECK(choose_splits({"apple", "apricot"}, 2) == std::vector<std::string>{"apr"});
  CHECK(choose_splits({"ab", "abc"}, 2) == std::vector<std::string>{"abc"});
  CHECK(choose_splits({"\xff", "\x01", "\x7f", "\x80"}, 2) == std::vector<std::string>{"\x80"});
  CHECK(choose_splits({"d", "b", "c", "a"}, 4) == std::vector<std::string>{"b", "c", "d"});
}

TEST_CASE("equal keys are never split, and few different keys make few parts", "[index_split]") {
  CHECK(choose_splits({}, 4).empty());
  CHECK(choose_splits({"a"}, 4).empty());
  CHECK(choose_splits({"a", "b"}, 1).empty());
  CHECK(choose_splits(std::vector<std::string>(100, "a"), 4).empty());
  std::vector<std::string> keys(98, "m");
  keys.emplace_back("a");
  CHECK(choose_splits(keys, 4) == std::vector<std::string>{"m"});
  keys.emplace_back("z");
  CHECK(choose_splits(keys, 4) == std::vector<std::string>{"m", "z"});
}

TEST_CASE("splits of values never lie inside of what begins with another value", "[index_split]") {
  // Values as common/layout/index_key.h encodes strings: none begins with another.
  Random draw(2);
  for (int round = 0; round < 200; ++round) {
    std::set<std::string> values;
    while (values.size() < 40) {
      std::string value;
      for (std::uint64_t i = draw.below(4); i > 0; --i) value += static_cast<char>(draw.between(2, 4));
      values.insert(value + '\0');
    }
    std::vector<std::string> sample;
    for (const std::string& value : values) {
      if (draw.chance(0.7)) sample.push_back(value);
    }
    const std::vector<std::string> splits = choose_splits(sample, 5);
    for (const std::string& value : values) {
      for (const std::string& split : splits) {
        const bool inside = value < split && split < value + "\xff\xff";
        CHECK_FALSE(inside);
      }
    }
  }
}

bool is_uneven(std::vector<std::uint64_t> bytes, std::uint64_t balanced_bytes = 0) {
  return out_of_balance(bytes, balanced_bytes, 1000);
}

TEST_CASE("an index is out of balance when a large part has more than its share", "[index_split]") {
  CHECK_FALSE(is_uneven({5000}));
  CHECK(is_uneven({5000, 0}));
  CHECK(is_uneven({751, 5000, 749}));
  CHECK_FALSE(is_uneven({1000, 0}));
  CHECK(is_uneven({1001, 0}));
  CHECK_FALSE(is_uneven({3000, 1000}));
  CHECK(is_uneven({3001, 1000}));
  CHECK_FALSE(is_uneven({2000, 2000, 2000, 2000}));
  CHECK_FALSE(is_uneven({3000, 2000, 2000, 1000}));
  CHECK(is_uneven({3001, 2000, 2000, 999}));
}

TEST_CASE("an index that was rebuilt and is uneven still, or again, waits until it has doubled",
          "[index_split]") {
  CHECK_FALSE(is_uneven({5000, 0}, 5000));
  CHECK_FALSE(is_uneven({9999, 0}, 5000));
  CHECK(is_uneven({10'000, 0}, 5000));
}

}  // namespace
}  // namespace namdb::schema
