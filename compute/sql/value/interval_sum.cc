#include "compute/sql/value/interval_sum.h"

#include <cmath>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/interval.h"

namespace namdb::sql {

IntervalOutcome IntervalSum::add(IntervalUnit unit, std::int64_t whole, double fraction) {
  switch (unit) {
    case IntervalUnit::microsecond:
      return add_time(whole, 1, fraction);
    case IntervalUnit::millisecond:
      return add_time(whole, 1000, fraction);
    case IntervalUnit::second:
      return add_time(whole, kSecond_us, fraction);
    case IntervalUnit::minute:
      return add_time(whole, kMinute_us, fraction);
    case IntervalUnit::hour:
      return add_time(whole, kHour_us, fraction);
    case IntervalUnit::day:
      return add_days(whole, 1, fraction);
    case IntervalUnit::week:
      return add_days(whole, 7, fraction);
    case IntervalUnit::month: {
      const IntervalOutcome outcome = add_to(interval_.months, whole, 1);
      return outcome == IntervalOutcome::ok ? add_days(0, 30, fraction) : outcome;
    }
    case IntervalUnit::year:
      return add_years(whole, 1, fraction);
    case IntervalUnit::decade:
      return add_years(whole, 10, fraction);
    case IntervalUnit::century:
      return add_years(whole, 100, fraction);
    case IntervalUnit::millennium:
      return add_years(whole, 1000, fraction);
    default:
      return IntervalOutcome::malformed;
  }
}

IntervalOutcome IntervalSum::add_clock(std::int64_t hours, std::int64_t minutes, std::int64_t seconds,
                                       double fraction, bool negative) {
  interval_.time_us = 0;
  const std::int64_t sign = negative ? -1 : 1;
  IntervalOutcome outcome = add_time(sign * hours, kHour_us, 0);
  if (outcome == IntervalOutcome::ok) outcome = add_time(sign * minutes, kMinute_us, 0);
  const double sign_of_fraction = negative ? -1 : 1;
  return outcome == IntervalOutcome::ok ? add_time(sign * seconds, kSecond_us, sign_of_fraction * fraction)
                                        : outcome;
}

bool IntervalSum::turn() {
  const Result<Interval> negated = negate(interval());
  std::int32_t years = 0;
  if (!negated.ok() || __builtin_sub_overflow(0, years_, &years)) return false;
  interval_ = *negated;
  years_ = years;
  return true;
}

std::optional<Interval> IntervalSum::whole() const {
  const std::int64_t months = std::int64_t{years_} * 12 + interval_.months;
  if (months != static_cast<std::int32_t>(months)) return std::nullopt;
  return Interval{static_cast<std::int32_t>(months), interval_.days, interval_.time_us};
}

IntervalOutcome IntervalSum::add_to(std::int32_t& sum, std::int64_t count, std::int32_t factor) {
  std::int32_t product = 0;
  const bool overflow = count != static_cast<std::int32_t>(count) ||
                        __builtin_mul_overflow(static_cast<std::int32_t>(count), factor, &product) ||
                        __builtin_add_overflow(sum, product, &sum);
  return overflow ? IntervalOutcome::out_of_range : IntervalOutcome::ok;
}

IntervalOutcome IntervalSum::add_time(std::int64_t whole, std::int64_t unit_us, double fraction) {
  std::int64_t product_us = 0;
  if (__builtin_mul_overflow(whole, unit_us, &product_us) ||
      __builtin_add_overflow(interval_.time_us, product_us, &interval_.time_us))
    return IntervalOutcome::out_of_range;
  // Rounded half toward zero.
  const double part_us = fraction * static_cast<double>(unit_us);
  std::int64_t rounded_us = static_cast<std::int64_t>(part_us);
  const double rest_us = part_us - static_cast<double>(rounded_us);
  if (rest_us > 0.5) ++rounded_us;
  if (rest_us < -0.5) --rounded_us;
  return __builtin_add_overflow(interval_.time_us, rounded_us, &interval_.time_us)
             ? IntervalOutcome::out_of_range
             : IntervalOutcome::ok;
}

IntervalOutcome IntervalSum::add_days(std::int64_t whole, std::int32_t days, double fraction) {
  if (const IntervalOutcome outcome = add_to(interval_.days, whole, days); outcome != IntervalOutcome::ok)
    return outcome;
  const double part = fraction * days;
  const auto extra = static_cast<std::int32_t>(part);
  if (const IntervalOutcome outcome = add_to(interval_.days, extra, 1); outcome != IntervalOutcome::ok)
    return outcome;
  return add_time(0, kDay_us, part - extra);
}

IntervalOutcome IntervalSum::add_years(std::int64_t whole, std::int32_t years, double fraction) {
  if (const IntervalOutcome outcome = add_to(years_, whole, years); outcome != IntervalOutcome::ok)
    return outcome;
  return add_to(interval_.months, static_cast<std::int64_t>(std::rint(fraction * years * 12)), 1);
}

}  // namespace namdb::sql
