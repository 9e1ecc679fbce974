// Roots, powers and logarithms of decimal numbers, with PostgreSQL's scales: at least 16 significant digits,
// and at least the scales of the arguments. They are calculated with 113 binary digits; a result of more than
// 33 decimal digits that is not exact is numeric_out_of_range.
#pragma once

#include <cstdint>

#include "compute/sql/value/decimal.h"

namespace namdb::sql {

// invalid_power: of a negative number.
Result<Decimal> square_root(const Decimal& number);
Result<Decimal> exponential(const Decimal& number);
// invalid_logarithm: of zero, or of a negative number.
Result<Decimal> natural_logarithm(const Decimal& number);
Result<Decimal> logarithm(const Decimal& base, const Decimal& number);
// invalid_power: zero to a negative power, a negative number to one that is not whole.
Result<Decimal> power(const Decimal& base, const Decimal& exponent);
// The whole part of the quotient.
Result<Decimal> whole_quotient(const Decimal& left, const Decimal& right);

}  // namespace namdb::sql
