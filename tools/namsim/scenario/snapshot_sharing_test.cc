// Snapshots that transactions share keep what snapshots of their own keep.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tools/namsim/scenario/scenario.h"

namespace namdb::sim {
namespace {

std::uint64_t seeds() {
  const char* text = std::getenv("NAMDB_SEEDS");
  return text == nullptr ? 25 : std::strtoull(text, nullptr, 10);
}

}  // namespace

TEST_CASE("versions that a shared snapshot shows stay while somebody may use it", "[snapshot-sharing]") {
  for (const auto sharing : {txn::SnapshotSharing::shared, txn::SnapshotSharing::prefetched}) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
      Scenario scenario = Scenario::of_seed(seed, "register", Emphasis::old_versions);
      scenario.cluster.worker.snapshot_sharing = sharing;
      const Verdict verdict = run_scenario(scenario, history::strict_snapshot_isolation());
      INFO(scenario.flags());
      REQUIRE(verdict.anomaly == "");
      CHECK(verdict.committed > 0);
    }
  }
}

}  // namespace namdb::sim
