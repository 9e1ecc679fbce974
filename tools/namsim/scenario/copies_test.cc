// Clusters whose regions have copies: whole runs with the ends and losses of hosts, partitions, and a
// configuration store that fails. NAMDB_SEEDS and NAMDB_FIRST_SEED run more than the fixed ones.
#include <catch2/catch.hpp>
#include <cstdio>

#include "tools/namsim/scenario/copies_run.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {

TEST_CASE("with copies nothing that was acknowledged is lost, and no read is older than promised",
          "[copies]") {
  const auto [first, count] = Seeds(24);
  std::uint64_t committed = 0;
  std::uint64_t takeovers = 0;
  std::uint64_t lost = 0;
  std::uint64_t faults = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("NAMDB_FIRST_SEED=" << seed << " NAMDB_SEEDS=1");
    const CopiesVerdict verdict = run_with_copies(seed);
    REQUIRE(verdict.anomaly == "");
    committed += verdict.committed;
    takeovers += verdict.takeovers_of_faults;
    faults += verdict.faults;
    lost += verdict.lost;
    if (seed % 20 == 0) CHECK(run_with_copies(seed).fingerprint == verdict.fingerprint);
  }
  std::fprintf(stderr, "%llu commits, %llu faults, %llu takeovers, %llu machines lost\n",
               static_cast<unsigned long long>(committed), static_cast<unsigned long long>(faults),
               static_cast<unsigned long long>(takeovers), static_cast<unsigned long long>(lost));
  CHECK(committed > count * 10);
  if (count < 20) return;
  CHECK(takeovers > count / 4);
  CHECK(lost > count / 4);
}

}  // namespace namdb::sim
