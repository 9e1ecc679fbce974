// Exact decimal numbers for numeric expressions: a 128-bit integer scaled by a power of ten. Rounding is half
// away from zero, as PostgreSQL rounds numeric; the scales of results are PostgreSQL's. A result of more than
// 38 digits is numeric_out_of_range. There is no NaN and no infinity.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace namdb::sql {

using Int128 = __int128;

inline constexpr unsigned kMaxDecimalDigits = 38;
// Leading zeros behind the point do not count as digits.
inline constexpr unsigned kMaxDecimalScale = 127;

struct Decimal {
  Int128 value = 0;
  unsigned scale = 0;  // digits behind the point, shown even when they are zero
};

// -1, 0 or 1. Never fails: scales need not agree.
int compare(const Decimal& left, const Decimal& right);
Result<Decimal> add(const Decimal& left, const Decimal& right);
Result<Decimal> subtract(const Decimal& left, const Decimal& right);
Result<Decimal> multiply(const Decimal& left, const Decimal& right);
// division_by_zero. At least 16 significant digits, as PostgreSQL's select_div_scale.
Result<Decimal> divide(const Decimal& left, const Decimal& right);
// The remainder has the sign of `left`.
Result<Decimal> remainder(const Decimal& left, const Decimal& right);

// To that scale; rounds half away from zero when digits are dropped.
Result<Decimal> rescale(const Decimal& number, unsigned scale);
// Without the digits behind that scale, which is not above the number's.
Decimal truncated(const Decimal& number, unsigned scale);
// To a precision and a scale: rounds, then checks the range ("numeric field overflow").
Result<Decimal> to_precision(const Decimal& number, unsigned precision, unsigned scale);
// The same of at most 18 digits, as a column has them.
Result<std::int64_t> to_scaled_integer(const Decimal& number, unsigned precision, unsigned scale);
// numeric_out_of_range: it has too many digits.
Status check_digits(const Decimal& number);
// Rounded to a whole number; numeric_out_of_range when it does not fit.
Result<std::int64_t> to_integer(const Decimal& number);
double to_double(const Decimal& number);
// With as many significant digits as PostgreSQL keeps of the type: 15 of double precision, 6 of real.
Result<Decimal> decimal_from_double(double number, int digits = 15);

// "-12.50". Text: digits, a point, an exponent, spaces around; invalid_text for anything else.
std::string to_string(const Decimal& number);
void append(std::string& out, const Decimal& number);
Result<Decimal> parse_decimal(std::string_view text);

}  // namespace namdb::sql
