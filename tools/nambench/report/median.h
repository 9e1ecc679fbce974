// The middle one of some figures.
#pragma once

#include <algorithm>
#include <vector>

namespace namdb::nambench {

// The median; of an even number of values the upper one of the two in the middle; 0 without values.
inline double upper_median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace namdb::nambench
