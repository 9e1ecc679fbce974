// Where compute servers CAS: never in the first pages of a region, which have no locks; and nowhere, if all
// stages that swap words are two-sided.
#include <catch2/catch.hpp>

#include "common/layout/protocol.h"
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

// Sound: counts all.
class AllAtomics final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (const fabric::Operation& operation : posting.operations) {
      if (operation.kind != fabric::OperationKind::read && operation.kind != fabric::OperationKind::write)
        ++count;
    }
  }

  std::uint64_t count = 0;
};

}  // namespace

TEST_CASE("compute servers swap no word where the stages that do are two-sided, whoever dies",
          "[protocols]") {
  const auto [first, count] = Seeds(6);
  for (const layout::ProtocolTraits& protocol : layout::protocol_traits()) {
    layout::StageCode stages;
    for (std::size_t i = 0; i < layout::kStageNames.size(); ++i) {
      if (protocol.swaps(static_cast<layout::Stage>(i))) stages = stages.with(static_cast<layout::Stage>(i));
    }
    REQUIRE(protocol.swaps_by_calls(stages));
    CHECK(protocol.swaps_by_calls(layout::StageCode::two_sided()));
    for (const bool swaps : {false, true}) {
      const layout::StageCode code = swaps ? stages.without(layout::Stage::lock) : stages;
      CHECK(protocol.swaps_by_calls(code) == !swaps);
      std::uint64_t swapped = 0;
      for (const char* const workload : {"churn", "register"}) {
        for (std::uint64_t seed = first; seed < first + count; ++seed) {
          AllAtomics atomics;
          Scenario scenario = Scenario::of_seed(seed, workload);
          scenario.cluster.memory.protocol = protocol.name;
          scenario.cluster.memory.stages = code;
          REQUIRE(scenario.use_faults(draw_faults(seed), "seed").ok());
          scenario.cluster.interposer = &atomics;
          CAPTURE(protocol.name, code.text(), workload, seed);
          REQUIRE(run_scenario(scenario, promised_level(protocol.name)).anomaly == "");
          swapped += atomics.count;
        }
      }
      CHECK((swapped != 0) == swaps);
    }
  }
}

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
