#include "common/base/random.h"

#include <catch2/catch.hpp>

namespace namdb {

TEST_CASE("equal seeds draw equal numbers and other seeds do not", "[random]") {
  Random a(7), b(7), c(8);
  bool differs = false;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t x = a.next();
    REQUIRE(x == b.next());
    differs |= x != c.next();
  }
  CHECK(differs);
  CHECK(a.state_hash() == b.state_hash());
}

TEST_CASE("below stays under its bound and reaches every value", "[random]") {
  Random random(1);
  std::array<int, 7> seen{};
  for (int i = 0; i < 1000; ++i) ++seen.at(random.below(7));
  for (const int count : seen) CHECK(count > 0);
}

}  // namespace namdb
