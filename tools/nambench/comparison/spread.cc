#include "tools/nambench/comparison/spread.h"

#include <algorithm>

namespace namdb::nambench {

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return {.median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2,
          .half_range = (values.back() - values.front()) / 2};
}

}  // namespace namdb::nambench
