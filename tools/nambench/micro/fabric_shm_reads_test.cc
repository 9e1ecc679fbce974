#include "tools/nambench/micro/fabric_shm_reads.h"

#include <catch2/catch.hpp>

namespace namdb::nambench {

TEST_CASE("READs over shared memory read what plain copies read") {
  FabricReadOptions options;
  options.region_bytes = 1 << 16;
  options.reads = 1000;
  options.repetitions = 1;
  const auto first = measure_shm_reads(options);
  REQUIRE(first.ok());
  const auto second = measure_shm_reads(options);
  REQUIRE(second.ok());
  REQUIRE(first.value().hash == second.value().hash);
  WARN("hash " << first.value().hash);
  options.seed = 2;
  REQUIRE(measure_shm_reads(options).value().hash != first.value().hash);
}

TEST_CASE("a length that no READ can have is refused") {
  FabricReadOptions options;
  options.length_bytes = 12;
  REQUIRE(measure_shm_reads(options).status().code() == ErrorCode::invalid_parameter_value);
}

}  // namespace namdb::nambench
