#include "compute/cluster/optimisations.h"

#include <catch2/catch.hpp>

namespace namdb::txn {

TEST_CASE("optimisations are on, but for those of the list", "[txn]") {
  CHECK(Optimisations::without("") == Optimisations());
  const auto some = Optimisations::without("doorbell-batching,location-cache");
  REQUIRE(some.has_value());
  CHECK_FALSE(some->doorbell_batching);
  CHECK_FALSE(some->location_cache);
  CHECK(some->outstanding_requests);
  CHECK(some->speculative_reads);
  CHECK(some->passive_acknowledgement);
  for (const std::string_view text :
       {",", "cache", "location-cache,", ",location-cache", "location-cache ,"}) {
    CAPTURE(text);
    CHECK_FALSE(Optimisations::without(text).has_value());
  }
}

}  // namespace namdb::txn
