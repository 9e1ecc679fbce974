#include "tools/nambench/comparison/axis.h"

#include <algorithm>
#include <cmath>

#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

// The next of 1, 2, 2.5, 5 times a power of ten.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// Without zeros at the end.
std::string shortest(double value) {
  std::string text = support::decimal(value, 3);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

Axis Axis::from_zero(double greatest, int ticks) {
  Axis axis;
  const double step = greatest > 0 ? round_step(greatest / ticks) : 1;
  const int steps = std::max(1, static_cast<int>(std::ceil(greatest / step * (1 - 1e-9))));
  for (int i = 0; i <= steps; ++i) axis.ticks_.push_back(i * step);
  axis.high_ = axis.ticks_.back();
  return axis;
}

Axis Axis::at(std::vector<double> values, bool logarithmic) {
  Axis axis;
  axis.ticks_ = std::move(values);
  axis.logarithmic_ = logarithmic && axis.ticks_.front() > 0;
  axis.low_ = axis.ticks_.front();
  axis.high_ = axis.ticks_.back();
  return axis;
}

double Axis::position(double value) const {
  if (high_ <= low_) return 0.5;
  if (logarithmic_) return std::log(value / low_) / std::log(high_ / low_);
  return (value - low_) / (high_ - low_);
}

std::string Axis::label(double tick) const {
  if (high_ >= 4e6) return shortest(tick / 1e6) + (tick == 0 ? "" : " M");
  if (high_ >= 4e3) return shortest(tick / 1e3) + (tick == 0 ? "" : " k");
  return shortest(tick);
}

}  // namespace namdb::nambench
