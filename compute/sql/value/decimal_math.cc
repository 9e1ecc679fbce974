#include "compute/sql/value/decimal_math.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#ifdef __clang__
// glibc has them, but shows them to GCC only.
extern "C" {
__float128 roundf128(__float128) noexcept;
__float128 fabsf128(__float128) noexcept;
__float128 powf128(__float128, __float128) noexcept;
__float128 sqrtf128(__float128) noexcept;
__float128 expf128(__float128) noexcept;
__float128 logf128(__float128) noexcept;
__float128 log10f128(__float128) noexcept;
}
#endif

namespace namdb::sql {
namespace {

using Real = __float128;
using Digits = unsigned __int128;

constexpr int kSignificantDigits = 16;
constexpr int kGroup_digits = 4;
constexpr double kDecimalsOfE = 0.434294481903252;  // log10(e)

Status too_long() {
  return Status(ErrorCode::numeric_out_of_range,
                "a numeric value can have at most " + std::to_string(kMaxDecimalDigits) + " digits");
}

Digits size_of(const Decimal& number) {
  return number.value < 0 ? Digits{0} - static_cast<Digits>(number.value) : static_cast<Digits>(number.value);
}

// The digits to the base 10000 as PostgreSQL keeps them, from the first one that is not zero on, and the
// power of 10000 of that one: its rules for scales use them.
struct Groups {
  int weight = 0;
  std::vector<int> digits;
};

Groups groups_of(const Decimal& number) {
  Groups groups;
  Digits rest = size_of(number);
  if (rest == 0) return groups;
  // The lowest group may have fewer digits than four.
  const unsigned padding = (kGroup_digits - number.scale % kGroup_digits) % kGroup_digits;
  int weight = -static_cast<int>((number.scale + kGroup_digits - 1) / kGroup_digits);
  Digits base = 1;
  int factor = 1;
  for (unsigned i = padding; i < kGroup_digits; ++i) base *= 10;
  for (unsigned i = 0; i < padding; ++i) factor *= 10;
  for (; rest != 0; ++weight) {
    groups.digits.push_back(static_cast<int>(rest % base) * factor);
    rest /= base;
    base = 10'000;
    factor = 1;
  }
  groups.weight = weight - 1;
  std::ranges::reverse(groups.digits);
  while (groups.digits.back() == 0) groups.digits.pop_back();
  return groups;
}

Real power_of_ten(unsigned exponent) {
  Real power = 1;
  for (unsigned i = 0; i < exponent; ++i) power *= 10;
  return power;
}

Real to_real(const Decimal& number) {
  return static_cast<Real>(number.value) / power_of_ten(number.scale);
}

// With so many digits behind the point, which are all sure.
Result<Decimal> from_real(Real number, int scale) {
  constexpr unsigned kSureDigits = 33;
  if (scale > static_cast<int>(kMaxDecimalScale)) return too_long();
  const Real scaled = roundf128(number * power_of_ten(static_cast<unsigned>(scale)));
  if (!(fabsf128(scaled) < power_of_ten(kSureDigits))) return too_long();
  return Decimal{static_cast<Int128>(scaled), static_cast<unsigned>(scale)};
}

int scale_for(int digits_before_point, std::initializer_list<unsigned> least) {
  int scale = std::max(kSignificantDigits - digits_before_point, 0);
  for (const unsigned other : least) scale = std::max(scale, static_cast<int>(other));
  return std::min(scale, 1000);
}

// How many decimal digits the logarithm has before the point, about; negative: zeros behind it.
int logarithm_weight(const Decimal& number) {
  if (number.value <= 0) return 0;
  if (compare(number, {9, 1}) >= 0 && compare(number, {11, 1}) <= 0) {
    const Result<Decimal> distance = subtract(number, {1, 0});
    if (!distance.ok() || distance->value == 0) return 0;
    const Groups groups = groups_of(*distance);
    return groups.weight * kGroup_digits + static_cast<int>(std::log10(groups.digits[0]));
  }
  const Groups groups = groups_of(number);
  double digits = groups.digits[0];
  int weight = groups.weight * kGroup_digits;
  if (groups.digits.size() > 1) {
    digits = digits * 10'000 + groups.digits[1];
    weight -= kGroup_digits;
  }
  const double estimate = std::log(digits) + weight * 2.302585092994046;
  return static_cast<int>(std::log10(std::abs(estimate)));
}

Status check_logarithm(const Decimal& number) {
  if (number.value == 0) return Status(ErrorCode::invalid_logarithm, "cannot take logarithm of zero");
  if (number.value < 0)
    return Status(ErrorCode::invalid_logarithm, "cannot take logarithm of a negative number");
  return {};
}

bool is_whole(const Decimal& number) {
  return compare(truncated(number, 0), number) == 0;
}

// The exact power, if it has few enough digits.
std::optional<Decimal> exact_power(const Decimal& base, std::int64_t exponent) {
  Result<Decimal> product = Decimal{1, 0};
  Result<Decimal> square = base;
  for (std::int64_t rest = exponent; rest != 0; rest /= 2) {
    if (rest % 2 != 0) product = multiply(*product, *square);
    if (rest > 1 && product.ok()) square = multiply(*square, *square);
    if (!product.ok() || !square.ok()) return std::nullopt;
  }
  return *product;
}

Result<Decimal> whole_power(const Decimal& base, std::int64_t exponent) {
  if (base.value == 0 && exponent < 0) return Status(ErrorCode::division_by_zero, "division by zero");
  const int scale = scale_for(0, {base.scale});
  if (base.value == 0 && exponent != 0) return rescale({0, 0}, static_cast<unsigned>(scale));
  if (exponent >= 0) {
    if (const std::optional<Decimal> exact = exact_power(base, exponent))
      return rescale(*exact, static_cast<unsigned>(scale));
  }
  return from_real(powf128(to_real(base), static_cast<Real>(exponent)), scale);
}

}  // namespace

Result<Decimal> square_root(const Decimal& number) {
  if (number.value < 0)
    return Status(ErrorCode::invalid_power, "cannot take square root of a negative number");
  const int weight = groups_of(number).weight * kGroup_digits / 2 + 1;
  Result<Decimal> root = from_real(sqrtf128(to_real(number)), scale_for(weight, {number.scale}));
  constexpr Int128 kShort = 1'000'000'000'000'000'000;  // its square is exact
  if (!root.ok() || root->value >= kShort) return root;
  // Near the middle between two values the binary root may be on the wrong side.
  Digits square = 4 * size_of(number);
  for (unsigned i = number.scale; i < 2 * root->scale; ++i) square *= 10;
  const auto twice = [&root](int more) { return static_cast<Digits>(2 * root->value + more); };
  while (root->value > 0 && twice(-1) * twice(-1) > square) --root->value;
  while (twice(1) * twice(1) < square) ++root->value;
  return root;
}

Result<Decimal> exponential(const Decimal& number) {
  const double weight = std::clamp(to_double(number) * kDecimalsOfE, -2000.0, 2000.0);
  return from_real(expf128(to_real(number)), scale_for(static_cast<int>(weight), {number.scale}));
}

Result<Decimal> natural_logarithm(const Decimal& number) {
  if (Status status = check_logarithm(number); !status.ok()) return status;
  return from_real(logf128(to_real(number)), scale_for(logarithm_weight(number), {number.scale}));
}

Result<Decimal> logarithm(const Decimal& base, const Decimal& number) {
  for (const Decimal* argument : {&base, &number}) {
    if (Status status = check_logarithm(*argument); !status.ok()) return status;
  }
  if (compare(base, {1, 0}) == 0) return Status(ErrorCode::division_by_zero, "division by zero");
  const int weight = logarithm_weight(number) - logarithm_weight(base);
  const Real ten = compare(base, {10, 0}) == 0 ? log10f128(to_real(number))
                                               : logf128(to_real(number)) / logf128(to_real(base));
  return from_real(ten, scale_for(weight, {base.scale, number.scale}));
}

Result<Decimal> power(const Decimal& base, const Decimal& exponent) {
  const bool whole = is_whole(exponent);
  if (base.value == 0 && exponent.value < 0)
    return Status(ErrorCode::invalid_power, "zero raised to a negative power is undefined");
  if (base.value < 0 && !whole) {
    return Status(ErrorCode::invalid_power,
                  "a negative number raised to a non-integer power yields a complex result");
  }
  if (whole) {
    const Result<std::int64_t> times = to_integer(exponent);
    if (times.ok() && *times == static_cast<std::int32_t>(*times)) return whole_power(base, *times);
    if (base.value < 0) return too_long();
  }
  if (base.value == 0) return Decimal{0, kSignificantDigits};
  const double weight = std::log(to_double(base)) * to_double(exponent) * kDecimalsOfE;
  if (weight > 1000) return too_long();
  const int scale = scale_for(static_cast<int>(std::max(weight, -1000.0)), {base.scale, exponent.scale});
  return from_real(powf128(to_real(base), to_real(exponent)), scale);
}

Result<Decimal> whole_quotient(const Decimal& left_in, const Decimal& right_in) {
  if (right_in.value == 0) return Status(ErrorCode::division_by_zero, "division by zero");
  const Result<Decimal> rest = remainder(left_in, right_in);
  if (!rest.ok()) return rest.status();
  const Result<Decimal> multiple = subtract(left_in, *rest);
  if (!multiple.ok()) return multiple.status();
  const Result<Decimal> quotient = divide(*multiple, right_in);
  return quotient.ok() ? rescale(*quotient, 0) : quotient;
}

}  // namespace namdb::sql
