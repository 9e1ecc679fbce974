#include "common/layout/vector_parts.h"

#include <catch2/catch.hpp>
#include <vector>

namespace namdb::layout {

TEST_CASE("every position of the timestamp vector has one word, and parts are as long as their words need",
          "[layout]") {
  for (const std::uint32_t servers : {1U, 2U, 3U, 7U}) {
    for (const VectorSpread spread : {VectorSpread::whole, VectorSpread::partitioned}) {
      const VectorParts parts(spread, servers);
      CHECK(parts.count() == (spread == VectorSpread::whole ? 1 : servers));
      std::vector<std::uint64_t> lengths(servers);
      for (std::uint64_t position = 0; position < 40; ++position) {
        const VectorParts::Place place = parts.place(position);
        REQUIRE(parts.has(place.server));
        CHECK(parts.position(place) == position);
        CHECK(place.index == lengths[place.server]++);
        for (ServerId server = 0; server < parts.count(); ++server) {
          CHECK(parts.words(server, position + 1) == lengths[server]);
          CHECK(parts.capacity(position + 1) >= lengths[server]);
        }
      }
      CHECK(parts.words(0, 0) == 0);
    }
  }
}

TEST_CASE("how the timestamp vector is spread has a name", "[layout]") {
  CHECK(find_vector_spread("whole") == VectorSpread::whole);
  CHECK(find_vector_spread("partitioned") == VectorSpread::partitioned);
  CHECK_FALSE(find_vector_spread("").has_value());
  CHECK(name_of(VectorSpread::partitioned) == "partitioned");
}

}  // namespace namdb::layout
