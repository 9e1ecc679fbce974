// PersistentMap against std::map, over random changes of several copies.
#include "memory/coordinator/persistent_map.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "common/base/random.h"

namespace namdb::memory {
namespace persistent_map_test {

template <typename Key, typename Value>
void check_equal(const PersistentMap<Key, Value>& map, const std::map<Key, Value>& expected) {
  REQUIRE(map.size() == expected.size());
  REQUIRE(map.empty() == expected.empty());
  auto other = expected.begin();
  for (const auto& [key, value] : map) {
    REQUIRE(key == other->first);
    REQUIRE(value == other->second);
    ++other;
  }
}

// `make` makes a key or a value of a small number.
template <typename Key, typename Value, typename MakeKey, typename MakeValue>
void compare(MakeKey make_key, MakeValue make_value) {
  Random random(1);
  struct Pair {
    PersistentMap<Key, Value> map;
    std::map<Key, Value> expected;
  };
  std::vector<Pair> pairs(1);
  for (int step = 0; step < 20'000; ++step) {
    Pair& pair = pairs[random.below(pairs.size())];
    const Key key = make_key(random.below(300));
    const auto found = pair.expected.find(key);
    REQUIRE(pair.map.contains(key) == (found != pair.expected.end()));
    if (found != pair.expected.end()) {
      REQUIRE(pair.map.at(key) == found->second);
      REQUIRE(pair.map.find(key)->first == key);
    } else {
      REQUIRE(pair.map.find(key) == pair.map.end());
    }
    const auto behind = pair.expected.upper_bound(key);
    const auto behind_it = pair.map.upper_bound(key);
    REQUIRE((behind_it == pair.map.end()) == (behind == pair.expected.end()));
    if (behind != pair.expected.end()) REQUIRE(behind_it->first == behind->first);
    if (random.chance(0.55)) {
      const Value value = make_value(random.below(1000));
      pair.map.put(key, value);
      pair.expected[key] = value;
    } else {
      REQUIRE(pair.map.erase(key) == (pair.expected.erase(key) != 0));
    }
    // A copy, which goes its own way from now on.
    if (pairs.size() < 4 && random.chance(0.01)) pairs.push_back(Pair(pair));
    if (pairs.size() > 1 && random.chance(0.005)) pairs.erase(pairs.begin());
    if (step % 500 != 0) continue;
    for (const Pair& each : pairs) check_equal(each.map, each.expected);
  }
  for (const Pair& each : pairs) check_equal(each.map, each.expected);
}

TEST_CASE("a persistent map is a map, and a change of a copy does not change the other", "[catalog]") {
  const auto number = [](std::uint64_t n) { return static_cast<std::uint32_t>(n); };
  const auto text = [](std::uint64_t n) { return std::to_string(n); };
  compare<std::uint32_t, std::uint32_t>(number, number);
  compare<std::string, std::string>(text, text);
}

TEST_CASE("a persistent map keeps what an iterator of a copy is at", "[catalog]") {
  PersistentMap<std::uint32_t, std::string> map;
  for (std::uint32_t i = 1; i <= 1000; ++i) map.put(i, std::to_string(i));
  const PersistentMap<std::uint32_t, std::string> copy = map;
  std::uint32_t seen = 0;
  for (const auto& [key, value] : copy) {
    ++seen;
    REQUIRE(value == std::to_string(key));
    map.erase(key);
    map.put(10'000 - key, "other");
  }
  CHECK(seen == 1000);
  CHECK(map.size() == 1000);
  CHECK(map.begin()->first == 9000);
}

}  // namespace persistent_map_test
}  // namespace namdb::memory
