// Secondary indexes against full scans (index_run.h): many seeds, each a whole cluster. NAMDB_SEEDS and
// NAMDB_FIRST_SEED run more than the fixed ones.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tools/namsim/index_run.h"

namespace namdb::sim {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

void run_seeds(IndexTrouble trouble, std::uint64_t default_count) {
  const std::uint64_t first = number_from_environment("NAMDB_FIRST_SEED", 1);
  const std::uint64_t count = number_from_environment("NAMDB_SEEDS", default_count);
  IndexVerdict sum;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const IndexVerdict verdict = run_indexes(seed, trouble);
    INFO("seed " << seed << ": " << verdict.anomaly);
    REQUIRE(verdict.anomaly.empty());
    sum.committed += verdict.committed;
    sum.compared += verdict.compared;
    sum.duplicates += verdict.duplicates;
    sum.built += verdict.built;
    sum.removed += verdict.removed;
  }
  INFO(sum.committed << " committed, " << sum.compared << " compared, " << sum.duplicates << " duplicates, "
                     << sum.built << " built, " << sum.removed << " removed");
  CHECK(sum.committed > count * 5);
  CHECK(sum.compared > count * 5);
  CHECK(sum.removed > count * 5);
  CHECK(sum.duplicates > 0);
  CHECK(sum.built > count / 10);
}

}  // namespace

TEST_CASE("an index shows what a full scan shows, at every snapshot", "[indexes]") {
  run_seeds(IndexTrouble::none, 60);
}

TEST_CASE("an index shows what a full scan shows while compute servers die", "[indexes]") {
  run_seeds(IndexTrouble::kills, 60);
}

TEST_CASE("an index shows what a full scan shows while compute servers pause", "[indexes]") {
  run_seeds(IndexTrouble::pauses, 60);
}

TEST_CASE("a run with indexes is decided by its seed", "[indexes]") {
  CHECK(run_indexes(7, IndexTrouble::kills).fingerprint == run_indexes(7, IndexTrouble::kills).fingerprint);
}

}  // namespace namdb::sim
