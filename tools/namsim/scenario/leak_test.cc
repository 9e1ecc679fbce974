// No memory is lost (leak_run.h). NAMDB_SEEDS and NAMDB_FIRST_SEED run more, NAMDB_ROUNDS each of them
// longer.
#include <catch2/catch.hpp>

#include "tools/namsim/scenario/leak_run.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {

TEST_CASE("when all is deleted, all memory is free again, whichever servers were killed on the way",
          "[leak]") {
  const auto [first, count] = Seeds(10);
  const std::uint64_t rounds = number_from_environment("NAMDB_ROUNDS", 3);
  std::uint64_t committed = 0;
  std::uint64_t kills = 0;
  std::uint64_t virtual_ns = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const LeakVerdict verdict = run_leak(seed, rounds);
    INFO("seed " << seed);
    REQUIRE(verdict.anomaly == "");
    committed += verdict.committed;
    kills += verdict.kills;
    virtual_ns += verdict.virtual_ns;
  }
  const std::string sum = std::to_string(committed) + " committed, " + std::to_string(kills) + " killed, " +
                          std::to_string(virtual_ns / 1'000'000'000) + " s of virtual time";
  INFO(sum);
  CHECK(committed > 30 * count * rounds);
  CHECK(2 * kills > count * rounds);
}

}  // namespace namdb::sim
