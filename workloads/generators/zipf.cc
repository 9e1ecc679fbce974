#include "workloads/generators/zipf.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"

namespace namdb::workloads {
namespace {

double zeta(std::uint64_t count, double theta) {
  double sum = 0;
  for (std::uint64_t rank = 1; rank <= count; ++rank) sum += 1 / std::pow(static_cast<double>(rank), theta);
  return sum;
}

}  // namespace

Zipf::Zipf(std::uint64_t count, double theta) : count_(count), theta_(theta) {
  NAMDB_CHECK(count > 0 && theta >= 0 && theta < 1);
  if (theta == 0) return;
  zeta_ = zeta(count, theta);
  alpha_ = 1 / (1 - theta);
  second_ = 1 + std::pow(0.5, theta);
  eta_ = (1 - std::pow(2.0 / static_cast<double>(count), 1 - theta)) / (1 - zeta(2, theta) / zeta_);
}

std::uint64_t Zipf::next(Random& random) const {
  if (theta_ == 0) return random.below(count_);
  const double unit = random.unit();
  const double scaled = unit * zeta_;
  if (scaled < 1) return 0;
  if (scaled < second_) return std::min<std::uint64_t>(1, count_ - 1);
  const double rank = static_cast<double>(count_) * std::pow(eta_ * unit - eta_ + 1, alpha_);
  return std::min(static_cast<std::uint64_t>(rank), count_ - 1);
}

}  // namespace namdb::workloads
