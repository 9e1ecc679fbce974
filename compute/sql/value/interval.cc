#include "compute/sql/value/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/timestamp.h"

namespace namdb::sql {
namespace {

Status out_of_range() {
  return Status(ErrorCode::datetime_out_of_range, "interval out of range");
}

// Months and days later; far outside of the range of timestamps, the years cannot be counted.
Result<std::int64_t> add_calendar(std::int64_t timestamp_us, const Interval& interval) {
  std::int64_t later_us = timestamp_us;
  if (interval.months != 0) {
    if (std::abs(std::int64_t{interval.months}) > std::int64_t{12} * 300'000)
      return Status(ErrorCode::datetime_out_of_range, "timestamp out of range");
    const DayTime parts = day_time_of(timestamp_us);
    CalendarDate date = date_of_days(parts.days);
    const std::int64_t month = date.year * 12 + date.month - 1 + interval.months;
    date.year = month >= 0 ? month / 12 : -((-month + 11) / 12);
    date.month = month - date.year * 12 + 1;
    date.day = std::min(date.day, days_in_month(date.year, date.month));
    if (date.year < -4713 || date.year > 294'276)
      return Status(ErrorCode::datetime_out_of_range, "timestamp out of range");
    later_us = days_of_date(date) * kDay_us + parts.time_us;
  }
  std::int64_t days_us = 0;
  if (__builtin_mul_overflow(std::int64_t{interval.days}, kDay_us, &days_us) ||
      __builtin_add_overflow(later_us, days_us, &later_us))
    return Status(ErrorCode::datetime_out_of_range, "timestamp out of range");
  if (Status status = check_timestamp(later_us); !status.ok()) return status;
  return later_us;
}

Result<std::int64_t> add_time(std::int64_t timestamp_us, std::int64_t time_us) {
  std::int64_t later_us = 0;
  if (__builtin_add_overflow(timestamp_us, time_us, &later_us))
    return Status(ErrorCode::datetime_out_of_range, "timestamp out of range");
  if (Status status = check_timestamp(later_us); !status.ok()) return status;
  return later_us;
}

}  // namespace

Int128 comparable_us(const Interval& interval) {
  return (Int128{interval.months} * 30 + interval.days) * kDay_us + interval.time_us;
}

Result<Interval> add(const Interval& left, const Interval& right) {
  Interval sum;
  if (__builtin_add_overflow(left.months, right.months, &sum.months) ||
      __builtin_add_overflow(left.days, right.days, &sum.days) ||
      __builtin_add_overflow(left.time_us, right.time_us, &sum.time_us))
    return out_of_range();
  return sum;
}

Result<Interval> negate(const Interval& interval) {
  Interval negated;
  if (__builtin_sub_overflow(0, interval.months, &negated.months) ||
      __builtin_sub_overflow(0, interval.days, &negated.days) ||
      __builtin_sub_overflow(std::int64_t{0}, interval.time_us, &negated.time_us))
    return out_of_range();
  return negated;
}

namespace {

// As PostgreSQL multiplies and divides: parts that are carried are rounded to microseconds.
template <typename Scale>
Result<Interval> scaled(const Interval& interval, const Scale& scale) {
  const auto rounded = [](double value) { return std::rint(value * 1e6) / 1e6; };
  const double months = scale(interval.months);
  const double days = scale(interval.days);
  if (!(std::abs(months) < 0x1p31) || !(std::abs(days) < 0x1p31)) return out_of_range();
  Interval product{static_cast<std::int32_t>(months), static_cast<std::int32_t>(days), 0};
  const double month_days = rounded((months - product.months) * 30);
  double seconds = rounded((days - product.days + month_days - std::trunc(month_days)) * 86'400);
  double whole_days = std::trunc(month_days);
  if (std::abs(seconds) >= 86'400) {
    whole_days += std::trunc(seconds / 86'400);
    seconds -= std::trunc(seconds / 86'400) * 86'400;
  }
  const double time_us = std::rint(scale(static_cast<double>(interval.time_us)) + seconds * 1e6);
  if (!(std::abs(time_us) < 0x1p63) || !(std::abs(product.days + whole_days) < 0x1p31)) return out_of_range();
  product.days += static_cast<std::int32_t>(whole_days);
  product.time_us = static_cast<std::int64_t>(time_us);
  return product;
}

}  // namespace

Result<Interval> multiply(const Interval& interval, double factor) {
  return scaled(interval, [factor](double part) { return part * factor; });
}

Result<Interval> divide(const Interval& interval, double divisor) {
  return scaled(interval, [divisor](double part) { return part / divisor; });
}

Result<Interval> justified(const Interval& interval, Justification what) {
  std::int64_t months = interval.months;
  std::int64_t days = interval.days;
  std::int64_t time_us = interval.time_us;
  if (what.hours) {
    days += time_us / kDay_us;
    time_us %= kDay_us;
  }
  if (what.days) {
    months += days / 30;
    days %= 30;
  }
  if (what.days && ((months > 0 && (days < 0 || (what.hours && days == 0 && time_us < 0))) ||
                    (months < 0 && (days > 0 || (what.hours && days == 0 && time_us > 0))))) {
    const std::int64_t sign = months > 0 ? 1 : -1;
    months -= sign;
    days += sign * 30;
  }
  if (what.hours && ((days > 0 && time_us < 0) || (days < 0 && time_us > 0))) {
    const std::int64_t sign = days > 0 ? 1 : -1;
    days -= sign;
    time_us += sign * kDay_us;
  }
  if (months != static_cast<std::int32_t>(months) || days != static_cast<std::int32_t>(days))
    return out_of_range();
  return Interval{static_cast<std::int32_t>(months), static_cast<std::int32_t>(days), time_us};
}

Interval with_days(std::int64_t time_us) {
  return {0, static_cast<std::int32_t>(time_us / kDay_us), time_us % kDay_us};
}

Result<std::int64_t> add_interval(std::int64_t timestamp_us, const Interval& interval) {
  if (is_infinite_timestamp(timestamp_us)) return timestamp_us;
  const Result<std::int64_t> day_us = add_calendar(timestamp_us, interval);
  return day_us.ok() ? add_time(*day_us, interval.time_us) : day_us;
}

Result<std::int64_t> add_interval(std::int64_t utc_us, const Interval& interval, const absl::TimeZone& zone) {
  if (is_infinite_timestamp(utc_us)) return utc_us;
  if (interval.months == 0 && interval.days == 0) return add_time(utc_us, interval.time_us);
  const Result<std::int64_t> clock_us = add_calendar(local_of_utc(utc_us, zone), interval);
  return clock_us.ok() ? add_time(utc_of_local(*clock_us, zone), interval.time_us) : clock_us;
}

Interval age(std::int64_t left_us, std::int64_t right_us) {
  const bool negative = left_us < right_us;
  const DayTime later = day_time_of(negative ? right_us : left_us);
  const DayTime earlier = day_time_of(negative ? left_us : right_us);
  const CalendarDate to = date_of_days(later.days);
  const CalendarDate from = date_of_days(earlier.days);
  std::int64_t months = (to.year - from.year) * 12 + to.month - from.month;
  std::int64_t days = to.day - from.day;
  std::int64_t time_us = later.time_us - earlier.time_us;
  if (time_us < 0) {
    time_us += kDay_us;
    --days;
  }
  if (days < 0) {
    days += days_in_month(from.year, from.month);
    --months;
  }
  const std::int64_t sign = negative ? -1 : 1;
  return {static_cast<std::int32_t>(sign * months), static_cast<std::int32_t>(sign * days), sign * time_us};
}

}  // namespace namdb::sql
