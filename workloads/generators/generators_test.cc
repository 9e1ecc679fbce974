#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "workloads/generators/key_chooser.h"
#include "workloads/generators/text.h"
#include "workloads/generators/zipf.h"

using namespace namdb;
using namespace namdb::workloads;

namespace {

std::vector<std::uint64_t> histogram(const KeyChooser& chooser, std::uint64_t seed, int draws) {
  Random random(seed);
  std::vector<std::uint64_t> counts(chooser.count());
  for (int i = 0; i < draws; ++i) ++counts.at(chooser.next(random));
  return counts;
}

}  // namespace

TEST_CASE("zipf draws ranks with the frequencies of its formula") {
  const Zipf zipf(1000, 0.9);
  Random random(1);
  std::vector<int> counts(1000);
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) ++counts.at(zipf.next(random));
  double zeta = 0;
  for (int rank = 1; rank <= 1000; ++rank) zeta += 1 / std::pow(rank, 0.9);
  CHECK(counts[0] == Approx(kDraws / zeta).epsilon(0.05));
  CHECK(counts[1] == Approx(kDraws / zeta / std::pow(2, 0.9)).epsilon(0.05));
  // The tail's method is approximate; a whole decade is right to some percent.
  int decade = 0;
  double expected = 0;
  for (int rank = 10; rank < 100; ++rank) {
    decade += counts[rank];
    expected += kDraws / zeta / std::pow(rank + 1, 0.9);
  }
  CHECK(decade == Approx(expected).epsilon(0.1));
}

TEST_CASE("zipf works for one and two ranks and for none of skew") {
  Random random(2);
  for (const std::uint64_t count : {1, 2, 3}) {
    for (const double theta : {0.0, 0.5, 0.99}) {
      const Zipf zipf(count, theta);
      for (int i = 0; i < 100; ++i) CHECK(zipf.next(random) < count);
    }
  }
}

TEST_CASE("a hot set gets its share of the draws") {
  const KeyChooser chooser(1000, {.hot_keys = 10, .hot_probability = 0.9});
  const std::vector<std::uint64_t> counts = histogram(chooser, 3, 100'000);
  std::uint64_t hot = 0;
  for (int key = 0; key < 10; ++key) hot += counts[key];
  CHECK(hot == Approx(90'000).epsilon(0.01));
}

TEST_CASE("one seed draws the same keys") {
  const KeyChooser chooser(100, {.zipf_theta = 0.8});
  CHECK(histogram(chooser, 4, 1000) == histogram(chooser, 4, 1000));
  CHECK(histogram(chooser, 4, 1000) != histogram(chooser, 5, 1000));
}

TEST_CASE("distinct keys are distinct even when there are hardly enough") {
  Random random(6);
  for (const double theta : {0.0, 0.99}) {
    const KeyChooser chooser(10, {.zipf_theta = theta});
    for (int i = 0; i < 100; ++i) {
      std::array<std::uint64_t, 10> keys{};
      chooser.next_distinct(random, keys);
      std::ranges::sort(keys);
      for (std::uint64_t key = 0; key < 10; ++key) CHECK(keys[key] == key);
    }
  }
}

TEST_CASE("random text has the asked-for lengths") {
  Random random(7);
  bool shortest = false;
  bool longest = false;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t length = random_text(random, 3, 9).size();
    CHECK((length >= 3 && length <= 9));
    shortest = shortest || length == 3;
    longest = longest || length == 9;
  }
  CHECK(shortest);
  CHECK(longest);
  CHECK(random_digits(random, 4).find_first_not_of("0123456789") == std::string::npos);
}

TEST_CASE("last names are the specification's") {
  CHECK(last_name(0) == "BARBARBAR");
  CHECK(last_name(371) == "PRICALLYOUGHT");
  CHECK(last_name(999) == "EINGEINGEING");
}

TEST_CASE("non-uniform numbers stay in their range") {
  Random random(8);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t value = non_uniform(random, 1023, 259, 1, 3000);
    CHECK((value >= 1 && value <= 3000));
  }
}
