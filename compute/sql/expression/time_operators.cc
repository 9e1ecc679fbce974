// Arithmetic with dates, times and intervals. The results are PostgreSQL's.
#include <array>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/value/calendar.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/timestamp.h"
#include "compute/sql/value/zoned_time.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

Status take(const Result<std::int64_t>& value, Datum& out) {
  if (!value.ok()) return value.status();
  out = Datum::of_integer(*value);
  return {};
}

Status take(const Result<Interval>& value, Datum& out) {
  if (!value.ok()) return value.status();
  out = Datum::of_interval(*value);
  return {};
}

enum class Sign : std::int8_t { plus = 1, minus = -1 };

template <Sign kSign>
Result<Interval> signed_interval(const Interval& interval) {
  return kSign == Sign::minus ? negate(interval) : Result<Interval>(interval);
}

template <Sign kSign>
Status timestamp_and_interval(Context, Arguments a, Datum& out) {
  const Result<Interval> interval = signed_interval<kSign>(a[1].interval());
  return interval.ok() ? take(add_interval(a[0].integer, *interval), out) : interval.status();
}

template <Sign kSign>
Status timestamptz_and_interval(Context context, Arguments a, Datum& out) {
  const Result<Interval> interval = signed_interval<kSign>(a[1].interval());
  return interval.ok() ? take(add_interval(a[0].integer, *interval, context.time().zone), out)
                       : interval.status();
}

template <Sign kSign>
Status date_and_interval(Context, Arguments a, Datum& out) {
  const Result<Interval> interval = signed_interval<kSign>(a[1].interval());
  const Result<std::int64_t> timestamp_us = timestamp_of_date(a[0].integer);
  if (!interval.ok()) return interval.status();
  if (!timestamp_us.ok()) return timestamp_us.status();
  return take(add_interval(*timestamp_us, *interval), out);
}

template <Sign kSign>
Status date_and_days(Context, Arguments a, Datum& out) {
  if (is_infinite_date(a[0].integer)) {
    out = a[0];
    return {};
  }
  const std::int64_t days = a[0].integer + (kSign == Sign::minus ? -a[1].integer : a[1].integer);
  out = Datum::of_integer(days);
  return check_date(days);
}

Status date_and_time(Context, Arguments a, Datum& out) {
  const Result<std::int64_t> midnight_us = timestamp_of_date(a[0].integer);
  if (!midnight_us.ok() || is_infinite_timestamp(*midnight_us)) return take(midnight_us, out);
  out = Datum::of_integer(*midnight_us + a[1].integer);
  return check_timestamp(out.integer);
}

template <Sign kSign>
Status time_and_interval(Context, Arguments a, Datum& out) {
  // A clock that goes round.
  const std::int64_t moved_us =
      a[0].integer % kDay_us + (kSign == Sign::minus ? -(a[1].integer % kDay_us) : a[1].integer % kDay_us);
  out = Datum::of_integer(((moved_us % kDay_us) + kDay_us) % kDay_us);
  return {};
}

template <Sign kSign>
Status timetz_and_interval(Context context, Arguments a, Datum& out) {
  const ZonedTime time = zoned_time(a[0].integer);
  const std::array<Datum, 2> arguments = {Datum::of_integer(time.time_us), a[1]};
  Status status = time_and_interval<kSign>(context, arguments, out);
  if (status.ok()) out.integer = packed({out.integer, time.offset_s});
  return status;
}

Status date_and_timetz(Context, Arguments a, Datum& out) {
  const Result<std::int64_t> midnight_us = timestamp_of_date(a[0].integer);
  if (!midnight_us.ok() || is_infinite_timestamp(*midnight_us)) return take(midnight_us, out);
  const ZonedTime time = zoned_time(a[1].integer);
  out = Datum::of_integer(*midnight_us + time.time_us - time.offset_s * kSecond_us);
  return check_timestamp(out.integer);
}

template <Sign kSign>
Status interval_and_interval(Context, Arguments a, Datum& out) {
  const Result<Interval> right = signed_interval<kSign>(a[1].interval());
  return right.ok() ? take(add(a[0].interval(), *right), out) : right.status();
}

// The other way round.
template <Function::Call kCall>
Status swapped(Context context, Arguments a, Datum& out) {
  const std::array<Datum, 2> arguments = {a[1], a[0]};
  return kCall(context, arguments, out);
}

Status timestamp_difference(Context, Arguments a, Datum& out) {
  if (is_infinite_timestamp(a[0].integer) || is_infinite_timestamp(a[1].integer))
    return Status(ErrorCode::datetime_out_of_range, "cannot subtract infinite timestamps");
  std::int64_t between_us = 0;
  if (__builtin_sub_overflow(a[0].integer, a[1].integer, &between_us))
    return Status(ErrorCode::datetime_out_of_range, "interval out of range");
  out = Datum::of_interval(with_days(between_us));
  return {};
}

Status date_difference(Context, Arguments a, Datum& out) {
  if (is_infinite_date(a[0].integer) || is_infinite_date(a[1].integer))
    return Status(ErrorCode::datetime_out_of_range, "cannot subtract infinite dates");
  out = Datum::of_integer(a[0].integer - a[1].integer);
  return {};
}

Status time_difference(Context, Arguments a, Datum& out) {
  out = Datum::of_interval({0, 0, a[0].integer - a[1].integer});
  return {};
}

Status interval_product(Context, Arguments a, Datum& out) {
  return take(multiply(a[0].interval(), a[1].real), out);
}

Status interval_quotient(Context, Arguments a, Datum& out) {
  if (a[1].real == 0) return Status(ErrorCode::division_by_zero, "division by zero");
  return take(divide(a[0].interval(), a[1].real), out);
}

Status negated_interval(Context, Arguments a, Datum& out) {
  return take(negate(a[0].interval()), out);
}

}  // namespace

std::span<const Function> time_operators() {
  using enum TypeId;
  constexpr Sign kPlus = Sign::plus;
  constexpr Sign kMinus = Sign::minus;
  static const std::vector<Function> operators = {
      {"+", {date, int4}, date, date_and_days<kPlus>},
      {"+", {int4, date}, date, swapped<date_and_days<kPlus>>},
      {"+", {date, interval}, timestamp, date_and_interval<kPlus>},
      {"+", {interval, date}, timestamp, swapped<date_and_interval<kPlus>>},
      {"+", {date, time}, timestamp, date_and_time},
      {"+", {time, date}, timestamp, swapped<date_and_time>},
      {"+", {date, timetz}, timestamptz, date_and_timetz},
      {"+", {timetz, date}, timestamptz, swapped<date_and_timetz>},
      {"+", {timestamp, interval}, timestamp, timestamp_and_interval<kPlus>},
      {"+", {interval, timestamp}, timestamp, swapped<timestamp_and_interval<kPlus>>},
      {"+", {timestamptz, interval}, timestamptz, timestamptz_and_interval<kPlus>},
      {"+", {interval, timestamptz}, timestamptz, swapped<timestamptz_and_interval<kPlus>>},
      {"+", {time, interval}, time, time_and_interval<kPlus>},
      {"+", {interval, time}, time, swapped<time_and_interval<kPlus>>},
      {"+", {timetz, interval}, timetz, timetz_and_interval<kPlus>},
      {"+", {interval, timetz}, timetz, swapped<timetz_and_interval<kPlus>>},
      {"+", {interval, interval}, interval, interval_and_interval<kPlus>},
      {"-", {date, date}, int4, date_difference},
      {"-", {date, int4}, date, date_and_days<kMinus>},
      {"-", {date, interval}, timestamp, date_and_interval<kMinus>},
      {"-", {timestamp, timestamp}, interval, timestamp_difference},
      {"-", {timestamptz, timestamptz}, interval, timestamp_difference},
      {"-", {timestamp, interval}, timestamp, timestamp_and_interval<kMinus>},
      {"-", {timestamptz, interval}, timestamptz, timestamptz_and_interval<kMinus>},
      {"-", {time, time}, interval, time_difference},
      {"-", {time, interval}, time, time_and_interval<kMinus>},
      {"-", {timetz, interval}, timetz, timetz_and_interval<kMinus>},
      {"-", {interval, interval}, interval, interval_and_interval<kMinus>},
      {"-", {interval}, interval, negated_interval},
      {"*", {interval, float8}, interval, interval_product},
      {"*", {float8, interval}, interval, swapped<interval_product>},
      {"/", {interval, float8}, interval, interval_quotient},
  };
  return operators;
}

}  // namespace namdb::sql
