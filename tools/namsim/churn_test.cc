// Rows that come and go (churn_run.h). NAMDB_SEEDS and NAMDB_FIRST_SEED run more.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tools/namsim/churn_run.h"

namespace namdb::sim {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

}  // namespace

TEST_CASE("rows that come and go agree with their companions, and their memory is used again", "[churn]") {
  const std::uint64_t first = number_from_environment("NAMDB_FIRST_SEED", 1);
  const std::uint64_t count = number_from_environment("NAMDB_SEEDS", 60);
  std::uint64_t committed = 0;
  std::uint64_t reclaimed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const ChurnVerdict verdict = run_churn(seed);
    INFO("seed " << seed);
    REQUIRE(verdict.anomaly == "");
    committed += verdict.committed;
    reclaimed += verdict.reclaimed;
  }
  INFO(committed << " committed, " << reclaimed << " records reclaimed");
  CHECK(committed > count * 100);
  CHECK(reclaimed > count * 10);
}

}  // namespace namdb::sim
