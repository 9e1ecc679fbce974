// Floating-point numbers as columns keep them, so that equal values are equal bytes.
#pragma once

#include <cmath>
#include <limits>

#include "common/layout/schema.h"

namespace namdb::layout {

// The number that the column holds in the place of another: of its precision, one zero, and one NaN.
inline double stored_real(const Column& column, double value) {
  if (column.type == ColumnType::real) value = static_cast<double>(static_cast<float>(value));
  if (value == 0) return 0;
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

}  // namespace namdb::layout
