// Functions of numbers beyond the common ones: divisors, angles, and sizes in bytes as people write them.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/expression/number_format.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/decimal.h"

namespace namdb::sql {
namespace {

using Values = std::span<const Datum>;

constexpr int kDoubleDigits = 15;
constexpr int kRealDigits = 6;

Status too_large(TypeId type) {
  return Status(ErrorCode::numeric_out_of_range, std::string(type_name(type)) + " out of range");
}

std::uint64_t magnitude(std::int64_t number) {
  return number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
}

std::uint64_t divisor_of(std::uint64_t left, std::uint64_t right) {
  while (right != 0) left = std::exchange(right, left % right);
  return left;
}

Status whole_result(TypeId type, unsigned __int128 result, Datum& out) {
  const std::int64_t most = type == TypeId::int4 ? INT32_MAX : INT64_MAX;
  if (result > static_cast<unsigned __int128>(most)) return too_large(type);
  out = Datum::of_integer(static_cast<std::int64_t>(result));
  return {};
}

template <TypeId kType>
Status greatest_divisor(const EvalContext&, Values a, Datum& out) {
  return whole_result(kType, divisor_of(magnitude(a[0].integer), magnitude(a[1].integer)), out);
}

template <TypeId kType>
Status least_multiple(const EvalContext&, Values a, Datum& out) {
  const std::uint64_t left = magnitude(a[0].integer);
  const std::uint64_t right = magnitude(a[1].integer);
  if (left == 0 || right == 0) return whole_result(kType, 0, out);
  return whole_result(kType, static_cast<unsigned __int128>(left / divisor_of(left, right)) * right, out);
}

Decimal without_sign(Decimal number) {
  if (number.value < 0) number.value = -number.value;
  return number;
}

Result<Decimal> decimal_divisor(Decimal left, Decimal right) {
  const unsigned scale = std::max(left.scale, right.scale);
  while (right.value != 0) {
    const Result<Decimal> rest = remainder(left, right);
    if (!rest.ok()) return rest.status();
    left = std::exchange(right, *rest);
  }
  return rescale(without_sign(left), scale);
}

Status divisor_of_numeric(const EvalContext&, Values a, Datum& out) {
  const Result<Decimal> divisor = decimal_divisor(a[0].decimal(), a[1].decimal());
  if (!divisor.ok()) return divisor.status();
  out = Datum::of_decimal(*divisor);
  return {};
}

Status multiple_of_numeric(const EvalContext&, Values a, Datum& out) {
  const Decimal left = without_sign(a[0].decimal());
  const Decimal right = without_sign(a[1].decimal());
  const unsigned scale = std::max(left.scale, right.scale);
  Result<Decimal> result = Decimal{0, scale};
  if (left.value != 0 && right.value != 0) {
    const Result<Decimal> divisor = decimal_divisor(left, right);
    if (!divisor.ok()) return divisor.status();
    // A whole number.
    const Result<Decimal> times = divide(left, *divisor);
    if (!times.ok()) return times.status();
    const Result<Decimal> multiple = multiply(truncated(*times, 0), right);
    if (!multiple.ok()) return multiple.status();
    result = rescale(*multiple, scale);
  }
  if (!result.ok()) return result.status();
  out = Datum::of_decimal(*result);
  return {};
}

template <double (*kFunction)(double)>
Status of_any_number(const EvalContext&, Values a, Datum& out) {
  out = Datum::of_real(kFunction(a[0].real));
  return {};
}

Status outside() {
  return Status(ErrorCode::numeric_out_of_range, "input is out of range");
}

// Of an angle, which is finite.
template <double (*kFunction)(double)>
Status of_angle(const EvalContext&, Values a, Datum& out) {
  if (std::isinf(a[0].real)) return outside();
  out = Datum::of_real(kFunction(a[0].real));
  return {};
}

// Of a number between -1 and 1.
template <double (*kFunction)(double)>
Status of_ratio(const EvalContext&, Values a, Datum& out) {
  if (a[0].real < -1 || a[0].real > 1) return outside();
  out = Datum::of_real(kFunction(a[0].real));
  return {};
}

double cotangent(double angle) {
  return 1.0 / std::tan(angle);
}
double in_degrees(double angle) {
  return angle / 0.0174532925199432957692;
}
double in_radians(double degrees) {
  return degrees * 0.0174532925199432957692;
}

Status area_cosine(const EvalContext&, Values a, Datum& out) {
  if (a[0].real < 1) return outside();
  out = Datum::of_real(std::acosh(a[0].real));
  return {};
}

Status arc_tangent(const EvalContext&, Values a, Datum& out) {
  out = Datum::of_real(std::atan2(a[0].real, a[1].real));
  return {};
}

Status pi(const EvalContext&, Values, Datum& out) {
  out = Datum::of_real(std::numbers::pi);
  return {};
}

struct SizeUnit {
  std::string_view name;
  unsigned bits;
  Int128 limit;
};

// From its limit on the next unit is shown. Those behind the first one are rounded.
constexpr std::array kSizeUnits = {SizeUnit{"bytes", 0, 10 * 1024},   SizeUnit{"kB", 10, 20 * 1024 - 1},
                                   SizeUnit{"MB", 20, 20 * 1024 - 1}, SizeUnit{"GB", 30, 20 * 1024 - 1},
                                   SizeUnit{"TB", 40, 20 * 1024 - 1}, SizeUnit{"PB", 50, 0}};

std::string shown_size(Int128 size) {
  std::size_t unit = 0;
  for (; unit + 1 < kSizeUnits.size(); ++unit) {
    if ((size < 0 ? -size : size) < kSizeUnits[unit].limit) break;
    const unsigned bits = kSizeUnits[unit + 1].bits - kSizeUnits[unit].bits;
    // A bit is kept for rounding.
    size /= Int128{1} << (unit == 0 ? bits - 1 : bits);
  }
  if (unit != 0) size = (size + (size < 0 ? -1 : 1)) / 2;
  return to_string(Decimal{size, 0}) + " " + std::string(kSizeUnits[unit].name);
}

Status size_of_integer(const EvalContext& context, Values a, Datum& out) {
  out = Datum::of_text(context.arena->copy(shown_size(a[0].integer)));
  return {};
}

Status size_of_numeric(const EvalContext& context, Values a, Datum& out) {
  const Decimal size = a[0].decimal();
  // Bytes are shown with their fraction.
  const bool small = compare(without_sign(size), {kSizeUnits[0].limit, 0}) < 0;
  out = Datum::of_text(
      context.arena->copy(small ? to_string(size) + " bytes" : shown_size(truncated(size, 0).value)));
  return {};
}

Status invalid_size(std::string_view text, std::string hint = {}) {
  return Status(ErrorCode::invalid_parameter_value, "invalid size: \"" + std::string(text) + "\"",
                std::move(hint));
}

// "1.5 GB"
Status bytes_of_size(const EvalContext&, Values a, Datum& out) {
  const std::string_view text = a[0].text;
  std::string_view rest = text;
  const auto skip_blanks = [&rest] {
    while (!rest.empty() && (rest.front() == ' ' || (rest.front() >= '\t' && rest.front() <= '\r')))
      rest.remove_prefix(1);
  };
  skip_blanks();
  std::size_t end = !rest.empty() && (rest[0] == '-' || rest[0] == '+') ? 1 : 0;
  std::size_t digits = 0;
  const auto take_digits = [&] {
    for (; end < rest.size() && is_digit(rest[end]); ++end) ++digits;
  };
  take_digits();
  if (end < rest.size() && rest[end] == '.') {
    ++end;
    take_digits();
  }
  if (digits == 0) return invalid_size(text);
  // An exponent, unless the letter begins a unit.
  if (end < rest.size() && (rest[end] == 'e' || rest[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < rest.size() && (rest[exponent] == '-' || rest[exponent] == '+')) ++exponent;
    const std::size_t first = exponent;
    while (exponent < rest.size() && is_digit(rest[exponent])) ++exponent;
    if (exponent > first) end = exponent;
  }
  Result<Decimal> size = parse_decimal(rest.substr(0, end));
  if (!size.ok()) return size.status();
  rest.remove_prefix(end);
  skip_blanks();
  while (!rest.empty() && (rest.back() == ' ' || (rest.back() >= '\t' && rest.back() <= '\r')))
    rest.remove_suffix(1);
  if (!rest.empty()) {
    const std::string unit = in_lower_case(rest);
    const auto found = std::ranges::find_if(
        kSizeUnits, [&unit](const SizeUnit& known) { return in_lower_case(known.name) == unit; });
    if (found == kSizeUnits.end()) {
      return invalid_size(text, "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".");
    }
    size = multiply(*size, {Int128{1} << found->bits, 0});
    if (!size.ok()) return size.status();
  }
  const Result<std::int64_t> bytes = to_integer(*size);
  if (!bytes.ok()) return too_large(TypeId::int8);
  out = Datum::of_integer(*bytes);
  return {};
}

// EEEE of an integer is that of a double precision.
bool is_scientific(std::string_view picture) {
  return picture.find("EEEE") != std::string_view::npos || picture.find("eeee") != std::string_view::npos;
}

// Work for a byte of a picture.
constexpr std::uint64_t kPictureByte_units = 8;

void charge_picture(const EvalContext& context, std::string_view picture) {
  context.work->charge(picture.size() * kPictureByte_units);
}

Status keep_text(const EvalContext& context, const Status& status, const std::string& text, Datum& out) {
  if (!status.ok()) return status;
  context.work->charge_bytes(text.size());
  out = Datum::of_text(context.arena->copy(text));
  return {};
}

template <bool kIsShort>
Status show_integer(const EvalContext& context, Values a, Datum& out) {
  charge_picture(context, a[1].text);
  std::string text;
  const Status status =
      kIsShort && is_scientific(a[1].text)
          ? append_formatted(text, static_cast<double>(a[0].integer), kDoubleDigits, a[1].text)
          : append_formatted(text, Decimal{a[0].integer, 0}, a[1].text);
  return keep_text(context, status, text, out);
}

Status show_numeric(const EvalContext& context, Values a, Datum& out) {
  charge_picture(context, a[1].text);
  std::string text;
  return keep_text(context, append_formatted(text, a[0].decimal(), a[1].text), text, out);
}

template <int kDigits>
Status show_real(const EvalContext& context, Values a, Datum& out) {
  charge_picture(context, a[1].text);
  std::string text;
  return keep_text(context, append_formatted(text, a[0].real, kDigits, a[1].text), text, out);
}

}  // namespace

std::span<const Function> arithmetic_functions() {
  using enum TypeId;
  static const std::vector<Function> functions = {
      {"gcd", {int4, int4}, int4, greatest_divisor<int4>},
      {"gcd", {int8, int8}, int8, greatest_divisor<int8>},
      {"gcd", {numeric, numeric}, numeric, divisor_of_numeric},
      {"lcm", {int4, int4}, int4, least_multiple<int4>},
      {"lcm", {int8, int8}, int8, least_multiple<int8>},
      {"lcm", {numeric, numeric}, numeric, multiple_of_numeric},
      {"cbrt", {float8}, float8, of_any_number<std::cbrt>},
      {"degrees", {float8}, float8, of_any_number<in_degrees>},
      {"radians", {float8}, float8, of_any_number<in_radians>},
      {"pi", {}, float8, pi},
      {"sin", {float8}, float8, of_angle<std::sin>},
      {"cos", {float8}, float8, of_angle<std::cos>},
      {"tan", {float8}, float8, of_angle<std::tan>},
      {"cot", {float8}, float8, of_angle<cotangent>},
      {"asin", {float8}, float8, of_ratio<std::asin>},
      {"acos", {float8}, float8, of_ratio<std::acos>},
      {"atan", {float8}, float8, of_any_number<std::atan>},
      {"atan2", {float8, float8}, float8, arc_tangent},
      {"sinh", {float8}, float8, of_any_number<std::sinh>},
      {"cosh", {float8}, float8, of_any_number<std::cosh>},
      {"tanh", {float8}, float8, of_any_number<std::tanh>},
      {"asinh", {float8}, float8, of_any_number<std::asinh>},
      {"acosh", {float8}, float8, area_cosine},
      {"atanh", {float8}, float8, of_ratio<std::atanh>},
      {"to_char", {int4, text}, text, show_integer<true>},
      {"to_char", {int8, text}, text, show_integer<false>},
      {"to_char", {numeric, text}, text, show_numeric},
      {"to_char", {float4, text}, text, show_real<kRealDigits>},
      {"to_char", {float8, text}, text, show_real<kDoubleDigits>},
      {"pg_size_pretty", {int8}, text, size_of_integer},
      {"pg_size_pretty", {numeric}, text, size_of_numeric},
      {"pg_size_bytes", {text}, int8, bytes_of_size},
  };
  return functions;
}

}  // namespace namdb::sql
