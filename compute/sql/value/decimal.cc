#include "compute/sql/value/decimal.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace namdb::sql {
namespace {

using UInt128 = unsigned __int128;

constexpr Int128 kMax = static_cast<Int128>(~UInt128{0} >> 1);

constexpr auto kPowers = [] {
  std::array<Int128, 39> powers{};
  powers[0] = 1;
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

Status overflow() {
  return Status(ErrorCode::numeric_out_of_range,
                "a numeric value can have at most " + std::to_string(kMaxDecimalDigits) + " digits");
}

UInt128 magnitude(Int128 value) {
  return value < 0 ? UInt128{0} - static_cast<UInt128>(value) : static_cast<UInt128>(value);
}

// value / divisor, rounded half away from zero; divisor > 0.
Int128 divide_rounded(Int128 value, Int128 divisor) {
  Int128 quotient = value / divisor;
  const UInt128 rest = magnitude(value % divisor);
  if (rest >= static_cast<UInt128>(divisor) - rest) quotient += value < 0 ? -1 : 1;
  return quotient;
}

// value * 10^shift; false: it does not fit.
bool shift_left(Int128& value, unsigned shift) {
  if (value == 0 || shift == 0) return true;
  return shift < kPowers.size() && !__builtin_mul_overflow(value, kPowers[shift], &value);
}

bool align(Decimal& left, Decimal& right) {
  Decimal& lower = left.scale < right.scale ? left : right;
  const unsigned scale = std::max(left.scale, right.scale);
  if (!shift_left(lower.value, scale - lower.scale)) return false;
  lower.scale = scale;
  return true;
}

Result<Decimal> checked(const Decimal& number) {
  if (Status status = check_digits(number); !status.ok()) return status;
  return number;
}

// The position and the value of the first base-10000 digit, as PostgreSQL stores a numeric: its rule for the
// scale of a quotient uses them.
struct LeadingDigit {
  int weight = 0;
  int digit = 0;
};

LeadingDigit leading_digit(const Decimal& number) {
  UInt128 value = magnitude(number.value);
  if (value == 0) return {};
  // Make the scale a multiple of four, then divide by 10000 until one digit is left.
  int weight = -static_cast<int>((number.scale + 3) / 4);
  const unsigned padding = (4 - number.scale % 4) % 4;
  // Instead of multiplying, which might overflow, count the digits of the lowest group.
  unsigned group = 4 - padding;  // digits of `value` that belong to the lowest group
  int digit = 0;
  while (value != 0) {
    const auto power = static_cast<UInt128>(kPowers[group]);
    digit = static_cast<int>(value % power * static_cast<UInt128>(kPowers[4 - group]));
    value /= power;
    ++weight;
    group = 4;
  }
  return {weight - 1, digit};
}

unsigned division_scale(const Decimal& left, const Decimal& right) {
  const LeadingDigit a = leading_digit(left);
  const LeadingDigit b = leading_digit(right);
  int quotient_weight = a.weight - b.weight;
  if (a.digit <= b.digit) --quotient_weight;
  int scale = 16 - quotient_weight * 4;
  scale = std::max({scale, static_cast<int>(left.scale), static_cast<int>(right.scale), 0});
  return static_cast<unsigned>(std::min(scale, 1000));
}

}  // namespace

int compare(const Decimal& left_in, const Decimal& right_in) {
  Decimal left = left_in;
  Decimal right = right_in;
  if (!align(left, right)) {
    // The number whose scale could not be raised has the greater magnitude.
    const Decimal& large = left_in.scale < right_in.scale ? left_in : right_in;
    const int sign = large.value < 0 ? -1 : 1;
    return &large == &left_in ? sign : -sign;
  }
  return left.value < right.value ? -1 : left.value > right.value ? 1 : 0;
}

Result<Decimal> add(const Decimal& left_in, const Decimal& right_in) {
  Decimal left = left_in;
  Decimal right = right_in;
  if (!align(left, right) || __builtin_add_overflow(left.value, right.value, &left.value)) return overflow();
  return checked(left);
}

Result<Decimal> subtract(const Decimal& left, const Decimal& right) {
  return add(left, {-right.value, right.scale});
}

Result<Decimal> multiply(const Decimal& left, const Decimal& right) {
  Decimal product;
  if (__builtin_mul_overflow(left.value, right.value, &product.value)) return overflow();
  product.scale = left.scale + right.scale;
  return checked(product);
}

namespace {

// The quotient of dividend * 10^shift, both positive, where the product does not fit: digit by digit.
Result<Decimal> divide_long(UInt128 dividend, UInt128 divisor, unsigned shift, bool negative,
                            unsigned scale) {
  UInt128 quotient = dividend / divisor;
  UInt128 rest = dividend % divisor;
  for (unsigned i = 0; i < shift; ++i) {
    if (quotient > static_cast<UInt128>(kPowers[kMaxDecimalDigits - 1])) return overflow();
    unsigned digit = 0;
    // Ten times the rest may not fit either.
    UInt128 next = 0;
    for (int k = 0; k < 10; ++k) {
      next += rest;
      if (next >= divisor) {
        next -= divisor;
        ++digit;
      }
    }
    rest = next;
    quotient = quotient * 10 + digit;
  }
  if (rest >= divisor - rest) ++quotient;
  const auto value = static_cast<Int128>(quotient);
  return checked({negative ? -value : value, scale});
}

}  // namespace

Result<Decimal> divide(const Decimal& left, const Decimal& right) {
  if (right.value == 0) return Status(ErrorCode::division_by_zero, "division by zero");
  const unsigned scale = division_scale(left, right);
  // left / right at `scale` is (left.value * 10^(scale + right.scale - left.scale)) / right.value.
  const int shift = static_cast<int>(scale + right.scale) - static_cast<int>(left.scale);
  if (scale > kMaxDecimalScale) {
    if (left.value == 0) return Decimal{0, kMaxDecimalScale};
    return overflow();
  }
  Int128 dividend = left.value;
  Int128 divisor = right.value;
  if (shift >= 0) {
    if (!shift_left(dividend, static_cast<unsigned>(shift))) {
      return divide_long(magnitude(left.value), magnitude(right.value), static_cast<unsigned>(shift),
                         (left.value < 0) != (right.value < 0), scale);
    }
  } else if (!shift_left(divisor, static_cast<unsigned>(-shift))) {
    return Decimal{0, scale};
  }
  if (divisor < 0) {
    dividend = -dividend;
    divisor = -divisor;
  }
  return checked({divide_rounded(dividend, divisor), scale});
}

Result<Decimal> remainder(const Decimal& left_in, const Decimal& right_in) {
  if (right_in.value == 0) return Status(ErrorCode::division_by_zero, "division by zero");
  Decimal left = left_in;
  Decimal right = right_in;
  if (!align(left, right)) {
    // The divisor has too few digits behind its point for so small a number: it is the greater one.
    if (left_in.scale > right_in.scale) return left_in;
    return overflow();
  }
  return Decimal{left.value % right.value, left.scale};
}

Result<Decimal> rescale(const Decimal& number, unsigned scale) {
  if (scale == number.scale) return number;
  Decimal result{number.value, scale};
  if (scale < number.scale) {
    const unsigned drop = number.scale - scale;
    result.value = drop >= kPowers.size() ? 0 : divide_rounded(number.value, kPowers[drop]);
  } else if (scale > kMaxDecimalScale || !shift_left(result.value, scale - number.scale)) {
    return overflow();
  }
  return checked(result);
}

Decimal truncated(const Decimal& number, unsigned scale) {
  const unsigned drop = number.scale - scale;
  return {drop >= kPowers.size() ? 0 : number.value / kPowers[drop], scale};
}

Status check_digits(const Decimal& number) {
  const bool fits = magnitude(number.value) < static_cast<UInt128>(kPowers[kMaxDecimalDigits]) &&
                    number.scale <= kMaxDecimalScale;
  return fits ? Status() : overflow();
}

Result<Decimal> to_precision(const Decimal& number, unsigned precision, unsigned scale) {
  const Result<Decimal> rounded = rescale(number, scale);
  if (!rounded.ok() || magnitude(rounded->value) >= static_cast<UInt128>(kPowers[precision])) {
    const std::string bound = precision == scale ? "1" : "10^" + std::to_string(precision - scale);
    return Status(ErrorCode::numeric_out_of_range, "numeric field overflow",
                  "A field with precision " + std::to_string(precision) + ", scale " + std::to_string(scale) +
                      " must round to an absolute value less than " + bound + ".");
  }
  return rounded;
}

Result<std::int64_t> to_scaled_integer(const Decimal& number, unsigned precision, unsigned scale) {
  const Result<Decimal> rounded = to_precision(number, precision, scale);
  if (!rounded.ok()) return rounded.status();
  return static_cast<std::int64_t>(rounded->value);
}

Result<std::int64_t> to_integer(const Decimal& number) {
  const Int128 whole = number.scale == 0                ? number.value
                       : number.scale >= kPowers.size() ? 0
                                                        : divide_rounded(number.value, kPowers[number.scale]);
  if (whole < INT64_MIN || whole > INT64_MAX)
    return Status(ErrorCode::numeric_out_of_range, "bigint out of range");
  return static_cast<std::int64_t>(whole);
}

double to_double(const Decimal& number) {
  if (magnitude(number.value) < (UInt128{1} << 53) && number.scale <= 22) {
    // Both are exact in a double, so that the quotient is rounded once.
    return static_cast<double>(number.value) / static_cast<double>(kPowers[number.scale]);
  }
  return std::strtod(to_string(number).c_str(), nullptr);
}

Result<Decimal> decimal_from_double(double number, int digits) {
  if (!std::isfinite(number)) {
    return Status(ErrorCode::feature_not_supported, std::isnan(number)
                                                        ? "NaN is not supported for numeric"
                                                        : "cannot convert infinity to numeric");
  }
  std::array<char, 64> buffer;
  const int length = std::snprintf(buffer.data(), buffer.size(), "%.*g", digits, number);
  return parse_decimal({buffer.data(), static_cast<std::size_t>(length)});
}

void append(std::string& out, const Decimal& number) {
  std::array<char, kMaxDecimalScale + 8> buffer;
  std::size_t begin = buffer.size();
  UInt128 rest = magnitude(number.value);
  unsigned digits = 0;
  while (rest != 0 || digits <= number.scale) {
    if (digits == number.scale && digits != 0) buffer[--begin] = '.';
    // Divide 64-bit numbers once it is possible: 128-bit division is a library call.
    if ((rest >> 64) == 0) {
      auto low = static_cast<std::uint64_t>(rest);
      buffer[--begin] = static_cast<char>('0' + low % 10);
      rest = low / 10;
    } else {
      buffer[--begin] = static_cast<char>('0' + static_cast<int>(rest % 10));
      rest /= 10;
    }
    ++digits;
  }
  if (number.value < 0) buffer[--begin] = '-';
  out.append(buffer.data() + begin, buffer.size() - begin);
}

std::string to_string(const Decimal& number) {
  std::string text;
  append(text, number);
  return text;
}

Result<Decimal> parse_decimal(std::string_view text) {
  const auto invalid = [text] {
    return Status(ErrorCode::invalid_text,
                  "invalid input syntax for type numeric: \"" + std::string(text) + "\"");
  };
  std::size_t at = 0;
  std::size_t end = text.size();
  const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (at < end && space(text[at])) ++at;
  while (end > at && space(text[end - 1])) --end;
  bool negative = false;
  if (at < end && (text[at] == '-' || text[at] == '+')) negative = text[at++] == '-';
  Int128 value = 0;
  long scale = 0;
  bool any = false;
  bool point = false;
  bool too_large = false;
  for (; at < end; ++at) {
    const char c = text[at];
    if (c >= '0' && c <= '9') {
      any = true;
      too_large = too_large || (value >= kMax / 10 && value > (kMax - (c - '0')) / 10);
      if (!too_large) value = value * 10 + (c - '0');
      if (point) ++scale;
    } else if (c == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  if (!any) {
    std::string word(text.substr(at, end - at));
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
    if (word == "nan" || word == "inf" || word == "infinity")
      return Status(ErrorCode::feature_not_supported, "numeric " + word + " is not supported");
    return invalid();
  }
  if (at < end && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at + 1 < end && text[at] == '+' && text[at + 1] != '-') ++at;
    int exponent = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, exponent);
    if (error == std::errc::result_out_of_range) return overflow();
    if (error != std::errc()) return invalid();
    at = static_cast<std::size_t>(stop - text.data());
    scale -= exponent;
  }
  if (at != end) return invalid();
  if (too_large) return overflow();
  if (scale < 0) {
    if (!shift_left(value, static_cast<unsigned>(std::min(-scale, 1000L)))) return overflow();
    scale = 0;
  }
  if (scale > static_cast<long>(kMaxDecimalScale)) return overflow();
  return checked({negative ? -value : value, static_cast<unsigned>(scale)});
}

}  // namespace namdb::sql
