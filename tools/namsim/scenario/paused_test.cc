// Compute servers that take no turn for a while: many seeds. NAMDB_SEEDS and NAMDB_FIRST_SEED run more than
// the fixed ones.
#include <catch2/catch.hpp>

#include "tools/namsim/scenario/paused_run.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

void run_seeds(Pauses pauses) {
  const auto [first, count] = Seeds(100);
  const auto timestamp_vector = GENERATE(layout::VectorSpread::whole, layout::VectorSpread::partitioned);
  std::uint64_t committed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const PausedVerdict verdict = run_paused(seed, pauses, nullptr, timestamp_vector);
    INFO("seed " << seed << ", " << layout::name_of(timestamp_vector) << ": " << verdict.anomaly);
    REQUIRE(verdict.anomaly.empty());
    committed += verdict.committed;
  }
  CHECK(committed > count * 20);
}

}  // namespace

TEST_CASE("a compute server that is taken for dead and goes on harms nobody", "[paused]") {
  run_seeds(Pauses::taken_for_dead);
}

TEST_CASE("a table's memory is used again only when nobody can write to it any more", "[paused]") {
  run_seeds(Pauses::tables_dropped);
}

}  // namespace namdb::sim
