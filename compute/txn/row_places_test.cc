#include "compute/txn/row_places.h"

#include <catch2/catch.hpp>
#include <vector>

#include "common/base/random.h"

namespace namdb::protocol {

TEST_CASE("each of many rows is found by its hash, also beside others with the same one", "[row-places]") {
  RowPlaces places;
  CHECK(places.empty());
  CHECK_FALSE(places.find(7, [](txn::RowId) { return true; }));
  Random random(1);
  std::vector<std::uint64_t> hashes;
  for (txn::RowId row = 0; row < 20'000; ++row) {
    // Three rows of each hash, and hashes that differ in high bits only.
    if (row % 3 == 0) hashes.push_back(row % 2 == 0 ? random.next() : std::uint64_t{row} << 40);
    places.add(hashes.back(), row);
  }
  CHECK_FALSE(places.empty());
  for (txn::RowId row = 0; row < 20'000; ++row) {
    const auto found = places.find(hashes[row / 3], [row](txn::RowId each) { return each == row; });
    REQUIRE(found == row);
  }
  CHECK_FALSE(places.find(random.next(), [](txn::RowId) { return false; }));
}

}  // namespace namdb::protocol
