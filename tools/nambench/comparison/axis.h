// An axis of a plot: where its ticks are and where values lie on it.
#pragma once

#include <string>
#include <vector>

namespace namdb::nambench {

class Axis {
 public:
  // From 0 to the next tick beyond `greatest`, with about `ticks` round numbers.
  static Axis from_zero(double greatest, int ticks);
  // Ticks at exactly these values, ascending and different; distances are those of the values, or of their
  // logarithms.
  static Axis at(std::vector<double> values, bool logarithmic);

  const std::vector<double>& ticks() const { return ticks_; }
  // 0 at the beginning, 1 at the end.
  double position(double value) const;
  // "20", "0.5", "250 k": as short as tells the ticks apart.
  std::string label(double tick) const;

 private:
  std::vector<double> ticks_;
  double low_ = 0;
  double high_ = 1;
  bool logarithmic_ = false;
};

}  // namespace namdb::nambench
