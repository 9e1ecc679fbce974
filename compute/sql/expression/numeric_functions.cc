// Functions of numbers.
#include <algorithm>
#include <cmath>
#include <string>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/value/decimal_math.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

Status abs_integer(std::int64_t low, std::string_view type, const Datum& in, Datum& out) {
  if (in.integer == low) return Status(ErrorCode::numeric_out_of_range, std::string(type) + " out of range");
  out = Datum::of_integer(std::abs(in.integer));
  return {};
}

Status round_to(const Decimal& value, std::int64_t digits, Datum& out) {
  if (digits < 0) {
    const unsigned drop = static_cast<unsigned>(std::min<std::int64_t>(-digits, kMaxDecimalDigits + 1));
    // Rounded at a position before the point: shift the point, round, and shift it back.
    Decimal shifted{value.value, value.scale + drop};
    const Result<Decimal> rounded = rescale(shifted, 0);
    if (!rounded.ok()) return rounded.status();
    Decimal result = *rounded;
    for (unsigned i = 0; i < drop && result.value != 0; ++i) {
      const Result<Decimal> next = multiply(result, {10, 0});
      if (!next.ok()) return next.status();
      result = *next;
    }
    out = Datum::of_decimal(result);
    return {};
  }
  const Result<Decimal> rounded =
      rescale(value, static_cast<unsigned>(std::min<std::int64_t>(digits, kMaxDecimalScale + 1)));
  if (!rounded.ok()) return rounded.status();
  out = Datum::of_decimal(*rounded);
  return {};
}

enum class Direction : std::uint8_t { down, up };

// To the next whole number in that direction.
Status round_toward(Direction direction, const Decimal& value, Datum& out) {
  const bool up = direction == Direction::up;
  const Result<Decimal> rest = remainder(value, {1, 0});
  if (!rest.ok()) return rest.status();
  const Result<Decimal> whole = subtract(value, *rest);
  if (!whole.ok()) return whole.status();
  Result<Decimal> result = rescale(*whole, 0);
  if (result.ok() && rest->value != 0 && (rest->value > 0) == up) result = add(*result, {up ? 1 : -1, 0});
  if (!result.ok()) return result.status();
  out = Datum::of_decimal(*result);
  return {};
}

Status abs_int2(Context, Arguments a, Datum& out) {
  return abs_integer(INT16_MIN, "smallint", a[0], out);
}
Status abs_int4(Context, Arguments a, Datum& out) {
  return abs_integer(INT32_MIN, "integer", a[0], out);
}
Status abs_int8(Context, Arguments a, Datum& out) {
  return abs_integer(INT64_MIN, "bigint", a[0], out);
}
Status abs_numeric(Context, Arguments a, Datum& out) {
  Decimal value = a[0].decimal();
  if (value.value < 0) value.value = -value.value;
  out = Datum::of_decimal(value);
  return {};
}

Status round_whole(Context, Arguments a, Datum& out) {
  return round_to(a[0].decimal(), 0, out);
}
Status round_digits(Context, Arguments a, Datum& out) {
  return round_to(a[0].decimal(), a[1].integer, out);
}
Status floor_numeric(Context, Arguments a, Datum& out) {
  return round_toward(Direction::down, a[0].decimal(), out);
}
Status ceil_numeric(Context, Arguments a, Datum& out) {
  return round_toward(Direction::up, a[0].decimal(), out);
}

template <double (*kFunction)(double)>
Status apply(Context, Arguments a, Datum& out) {
  out = Datum::of_real(kFunction(a[0].real));
  return {};
}

Status truncate_whole(Context, Arguments a, Datum& out) {
  out = Datum::of_decimal(truncated(a[0].decimal(), 0));
  return {};
}

Status truncate_digits(Context, Arguments a, Datum& out) {
  const Decimal value = a[0].decimal();
  const std::int64_t digits = a[1].integer;
  if (digits >= 0 && digits <= value.scale) {
    out = Datum::of_decimal(truncated(value, static_cast<unsigned>(digits)));
    return {};
  }
  if (digits >= 0) return round_to(value, digits, out);
  // Before the point: without what is smaller than a power of ten.
  if (digits < -static_cast<std::int64_t>(kMaxDecimalDigits)) {
    out = Datum::of_decimal({0, 0});
    return {};
  }
  Decimal unit{1, 0};
  for (std::int64_t i = 0; i > digits; --i) unit.value *= 10;
  const Decimal whole = truncated(value, 0);
  out = Datum::of_decimal({whole.value / unit.value * unit.value, 0});
  return {};
}

Status take(const Result<Decimal>& number, Datum& out) {
  if (!number.ok()) return number.status();
  out = Datum::of_decimal(*number);
  return {};
}

template <Result<Decimal> (*kFunction)(const Decimal&)>
Status apply_decimal(Context, Arguments a, Datum& out) {
  return take(kFunction(a[0].decimal()), out);
}

template <Result<Decimal> (*kFunction)(const Decimal&, const Decimal&)>
Status apply_decimals(Context, Arguments a, Datum& out) {
  return take(kFunction(a[0].decimal(), a[1].decimal()), out);
}

Status decimal_logarithm(Context, Arguments a, Datum& out) {
  return take(logarithm({10, 0}, a[0].decimal()), out);
}

Status sign_of_numeric(Context, Arguments a, Datum& out) {
  const Int128 value = a[0].unscaled;
  out = Datum::of_decimal({value > 0 ? 1 : value < 0 ? -1 : 0, 0});
  return {};
}

Status sign_of_real(Context, Arguments a, Datum& out) {
  out = Datum::of_real(a[0].real > 0 ? 1 : a[0].real < 0 ? -1 : 0);
  return {};
}

Status scale_of(Context, Arguments a, Datum& out) {
  out = Datum::of_integer(a[0].scale);
  return {};
}

Decimal without_end_zeros(Decimal number) {
  while (number.scale > 0 && number.value % 10 == 0) {
    number.value /= 10;
    --number.scale;
  }
  return number;
}

Status least_scale_of(Context, Arguments a, Datum& out) {
  out = Datum::of_integer(without_end_zeros(a[0].decimal()).scale);
  return {};
}

Status trim_scale(Context, Arguments a, Datum& out) {
  out = Datum::of_decimal(without_end_zeros(a[0].decimal()));
  return {};
}

Status checked_real(double result, bool finite_arguments, bool may_be_zero, Datum& out) {
  if (std::isinf(result) && finite_arguments)
    return Status(ErrorCode::numeric_out_of_range, "value out of range: overflow");
  if (result == 0 && finite_arguments && !may_be_zero)
    return Status(ErrorCode::numeric_out_of_range, "value out of range: underflow");
  out = Datum::of_real(result);
  return {};
}

Status root_of_real(Context, Arguments a, Datum& out) {
  if (a[0].real < 0) return Status(ErrorCode::invalid_power, "cannot take square root of a negative number");
  out = Datum::of_real(std::sqrt(a[0].real));
  return {};
}

Status power_of_e(Context, Arguments a, Datum& out) {
  return checked_real(std::exp(a[0].real), std::isfinite(a[0].real), false, out);
}

template <double (*kLogarithm)(double)>
Status logarithm_of_real(Context, Arguments a, Datum& out) {
  if (a[0].real == 0) return Status(ErrorCode::invalid_logarithm, "cannot take logarithm of zero");
  if (a[0].real < 0)
    return Status(ErrorCode::invalid_logarithm, "cannot take logarithm of a negative number");
  out = Datum::of_real(kLogarithm(a[0].real));
  return {};
}

Status power_of_real(Context, Arguments a, Datum& out) {
  const double base = a[0].real;
  const double exponent = a[1].real;
  if (base == 0 && exponent < 0)
    return Status(ErrorCode::invalid_power, "zero raised to a negative power is undefined");
  if (base < 0 && std::isfinite(exponent) && std::floor(exponent) != exponent) {
    return Status(ErrorCode::invalid_power,
                  "a negative number raised to a non-integer power yields a complex result");
  }
  return checked_real(std::pow(base, exponent), std::isfinite(base) && std::isfinite(exponent), base == 0,
                      out);
}

Status random(Context context, Arguments, Datum& out) {
  out = Datum::of_real(context.random->unit());
  return {};
}

// mod() is bound as the operator %.
Status as_operator(Context, Arguments, Datum&) {
  return Status(ErrorCode::internal, "an operator is not called");
}

}  // namespace

std::span<const Function> numeric_functions() {
  using enum TypeId;
  static const std::vector<Function> functions = {
      {"abs", {int2}, int2, abs_int2},
      {"abs", {int4}, int4, abs_int4},
      {"abs", {int8}, int8, abs_int8},
      {"abs", {numeric}, numeric, abs_numeric},
      {"abs", {float8}, float8, apply<std::fabs>},
      {"round", {numeric}, numeric, round_whole},
      {"round", {numeric, int4}, numeric, round_digits},
      {"round", {float8}, float8, apply<std::rint>},
      {"floor", {numeric}, numeric, floor_numeric},
      {"floor", {float8}, float8, apply<std::floor>},
      {"ceil", {numeric}, numeric, ceil_numeric},
      {"ceil", {float8}, float8, apply<std::ceil>},
      {"trunc", {numeric}, numeric, truncate_whole},
      {"trunc", {numeric, int4}, numeric, truncate_digits},
      {"trunc", {float8}, float8, apply<std::trunc>},
      {"sign", {numeric}, numeric, sign_of_numeric},
      {"sign", {float8}, float8, sign_of_real},
      {"sqrt", {numeric}, numeric, apply_decimal<square_root>},
      {"sqrt", {float8}, float8, root_of_real},
      {"exp", {numeric}, numeric, apply_decimal<exponential>},
      {"exp", {float8}, float8, power_of_e},
      {"ln", {numeric}, numeric, apply_decimal<natural_logarithm>},
      {"ln", {float8}, float8, logarithm_of_real<std::log>},
      {"log", {numeric}, numeric, decimal_logarithm},
      {"log", {float8}, float8, logarithm_of_real<std::log10>},
      {"log", {numeric, numeric}, numeric, apply_decimals<logarithm>},
      {"power", {numeric, numeric}, numeric, apply_decimals<power>},
      {"power", {float8, float8}, float8, power_of_real},
      {"div", {numeric, numeric}, numeric, apply_decimals<whole_quotient>},
      {"scale", {numeric}, int4, scale_of},
      {"min_scale", {numeric}, int4, least_scale_of},
      {"trim_scale", {numeric}, numeric, trim_scale},
      {"mod", {int2, int2}, int2, as_operator},
      {"mod", {int4, int4}, int4, as_operator},
      {"mod", {int8, int8}, int8, as_operator},
      {"mod", {numeric, numeric}, numeric, as_operator},
      {"random", {}, float8, random, Volatility::is_volatile},
  };
  return functions;
}

}  // namespace namdb::sql
