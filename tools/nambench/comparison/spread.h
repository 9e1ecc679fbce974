// Median and range of the repetitions of one measurement.
#pragma once

#include <vector>

namespace namdb::nambench {

struct Spread {
  double median = 0;      // of an even number of values: the mean of the two in the middle
  double half_range = 0;  // half of the difference between the greatest and the smallest
  // The half range in percent of the median; 0 if the median is 0.
  double half_range_percent() const { return median == 0 ? 0 : 100 * half_range / median; }
};

// The spread of the values; zeros if there are none.
Spread spread_of(std::vector<double> values);

}  // namespace namdb::nambench
