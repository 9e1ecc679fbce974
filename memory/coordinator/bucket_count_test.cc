#include "memory/coordinator/bucket_count.h"

#include <array>
#include <catch2/catch.hpp>

namespace namdb::memory {
namespace {

TEST_CASE("a table of its size hint fills three quarters of its main buckets' entries", "[catalog]") {
  CHECK(initial_buckets(512, 1) == 69);
  CHECK(initial_buckets(512, 2) == 35);
  CHECK(initial_buckets(512, 4) == 18);
  CHECK(initial_buckets(1'000'000, 3) == 44'445);
}

TEST_CASE("a table has a main bucket on each memory server, however small it is", "[catalog]") {
  CHECK(initial_buckets(0, 1) == 1);
  CHECK(initial_buckets(1, 200) == 1);
  CHECK(initial_buckets(7, 1) == 1);
  CHECK(initial_buckets(8, 1) == 2);
}

TEST_CASE("the number of main buckets does not overflow", "[catalog]") {
  CHECK(initial_buckets(~std::uint64_t{0}, 1) == 2'459'565'876'494'606'883);
  CHECK(initial_buckets(~std::uint64_t{0}, ~std::uint64_t{0}) == 1);
}

TEST_CASE("a hash index has as many main buckets as its table where that has grown most", "[catalog]") {
  CHECK(buckets_by_now(35, {}) == 35);
  CHECK(buckets_by_now(35, std::array<std::uint32_t, 3>{0, 2, 1}) == 140);
}

}  // namespace
}  // namespace namdb::memory
