// Where compute servers CAS: never in the first pages of a region, which have no locks.
#include <catch2/catch.hpp>

#include "common/layout/region_map.h"
#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

// Sound: counts the CASes in the region's map.
class StrayAtomics final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (const fabric::Operation& operation : posting.operations) {
      if (operation.kind == fabric::OperationKind::compare_and_swap &&
          operation.remote_offset < layout::kRegionMap_bytes)
        ++count;
    }
  }

  std::uint64_t count = 0;
};

}  // namespace

TEST_CASE("a record that goes while it is being locked is not locked", "[protocols]") {
  const char* const protocol = GENERATE("nowait", "waitdie");
  const auto [first, count] = Seeds(60);
  CAPTURE(protocol);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    StrayAtomics stray;
    Scenario scenario = Scenario::of_seed(seed, "churn");
    scenario.cluster.memory.protocol = protocol;
    // Deleted rows are reclaimed at once.
    scenario.cluster.memory.collect_interval_ns = kMillisecond_ns;
    scenario.cluster.interposer = &stray;
    CAPTURE(seed);
    REQUIRE(run_scenario(scenario, promised_level(protocol)).anomaly == "");
    REQUIRE(stray.count == 0);
  }
}

}  // namespace namdb::sim
