#include "tools/support/report/histogram.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "common/base/random.h"

using namespace namdb;
using support::Histogram;

TEST_CASE("percentiles are within two percent of the exact ones") {
  Random random(1);
  Histogram histogram;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(random.next() >> random.below(64));
    histogram.record(values.back());
  }
  std::ranges::sort(values);
  for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const std::uint64_t exact = values[static_cast<std::size_t>(share * 20'000) - 1];
    CHECK(histogram.percentile_ns(share) >= exact);
    CHECK(static_cast<double>(histogram.percentile_ns(share)) <= static_cast<double>(exact) * 1.02);
  }
  CHECK(histogram.percentile_ns(1) == values.back());
  CHECK(histogram.max_ns() == values.back());
}

TEST_CASE("small values are exact, and an empty histogram is all zero") {
  Histogram histogram;
  CHECK(histogram.percentile_ns(0.5) == 0);
  CHECK(histogram.mean_ns() == 0);
  for (std::uint64_t value = 0; value < 64; ++value) histogram.record(value);
  CHECK(histogram.percentile_ns(0.5) == 31);
  CHECK(histogram.percentile_ns(1) == 63);
  CHECK(histogram.mean_ns() == Approx(31.5));
  Histogram other;
  other.record(1'000'000);
  other.merge(histogram);
  CHECK(other.count() == 65);
  CHECK(other.max_ns() == 1'000'000);
  CHECK(other.percentile_ns(0.5) == 32);
}
