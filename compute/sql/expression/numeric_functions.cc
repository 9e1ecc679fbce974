// Functions of numbers.
#include <algorithm>
#include <cmath>
#include <string>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"

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
    const unsigned drop = static_cast<unsigned>(std::min<std::int64_t>(-digits, 60));
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
      rescale(value, static_cast<unsigned>(std::min<std::int64_t>(digits, kMaxDecimalScale)));
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
      {"mod", {int2, int2}, int2, as_operator},
      {"mod", {int4, int4}, int4, as_operator},
      {"mod", {int8, int8}, int8, as_operator},
      {"mod", {numeric, numeric}, numeric, as_operator},
      {"random", {}, float8, random, Volatility::is_volatile},
  };
  return functions;
}

}  // namespace namdb::sql
