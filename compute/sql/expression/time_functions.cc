// Functions of dates, times and intervals.
#include <array>
#include <cmath>
#include <cstdio>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/expression/time_fields.h"
#include "compute/sql/expression/time_format.h"
#include "compute/sql/expression/time_parse.h"
#include "compute/sql/value/calendar.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/timestamp.h"
#include "compute/sql/value/zoned_time.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

bool is_infinite(TypeId type, std::int64_t value) {
  if (type == TypeId::date) return is_infinite_date(value);
  return type != TypeId::time && is_infinite_timestamp(value);
}

std::int64_t clock_of(Context context, TypeId type, std::int64_t value) {
  if (type == TypeId::date) return value * kDay_us;
  return type == TypeId::timestamptz ? local_of_utc(value, context.time().zone) : value;
}

template <TypeId kType>
Status extract(Context context, Arguments a, Datum& out) {
  const std::int64_t value = a[1].integer;
  if (is_infinite(kType, value)) {
    if (grows_with_time(a[0].text))
      return Status(ErrorCode::feature_not_supported, "infinity is not supported for numeric");
    out = Datum();
    return {};
  }
  std::optional<std::int64_t> offset_s;
  if (kType == TypeId::timestamptz) offset_s = zone_offset_s(value, context.time().zone);
  const Result<Decimal> field = clock_field(a[0].text, kType, clock_of(context, kType, value), offset_s);
  if (!field.ok()) return field.status();
  out = Datum::of_decimal(*field);
  return {};
}

template <>
Status extract<TypeId::interval>(Context, Arguments a, Datum& out) {
  const Result<Decimal> field = interval_field(a[0].text, a[1].interval());
  if (!field.ok()) return field.status();
  out = Datum::of_decimal(*field);
  return {};
}

// Many dates are beyond the range of timestamps.
template <>
Status extract<TypeId::date>(Context, Arguments a, Datum& out) {
  const bool infinite = is_infinite_date(a[1].integer);
  if (infinite && grows_with_time(a[0].text))
    return Status(ErrorCode::feature_not_supported, "infinity is not supported for numeric");
  const Result<Decimal> field = field_of_date(a[0].text, infinite ? 0 : a[1].integer);
  if (!field.ok()) return field.status();
  out = infinite ? Datum() : Datum::of_decimal(*field);
  return {};
}

// As extract(), in double precision.
template <TypeId kType>
Status date_part(Context context, Arguments a, Datum& out) {
  Status status = extract<kType>(context, a, out);
  if (status.ok() && !out.null) out = Datum::of_real(to_double(out.decimal()));
  return status;
}

template <>
Status extract<TypeId::timetz>(Context, Arguments a, Datum& out) {
  const ZonedTime time = zoned_time(a[1].integer);
  const Result<Decimal> field = clock_field(a[0].text, TypeId::timetz, time.time_us, time.offset_s);
  if (!field.ok()) return field.status();
  out = Datum::of_decimal(*field);
  return {};
}

// Of a date it is that of its first moment, unlike extract().
template <>
Status date_part<TypeId::date>(Context context, Arguments a, Datum& out) {
  const Result<std::int64_t> midnight_us = timestamp_of_date(a[1].integer);
  if (!midnight_us.ok()) return midnight_us.status();
  const std::array<Datum, 2> arguments = {a[0], Datum::of_integer(*midnight_us)};
  return date_part<TypeId::timestamp>(context, arguments, out);
}

Status truncate_timestamp(Context, Arguments a, Datum& out) {
  if (is_infinite(TypeId::timestamp, a[1].integer)) {
    out = a[1];
    return {};
  }
  const Result<std::int64_t> clock_us = truncate_clock(a[0].text, TypeId::timestamp, a[1].integer);
  if (!clock_us.ok()) return clock_us.status();
  out = Datum::of_integer(*clock_us);
  return check_timestamp(*clock_us);
}

Status truncate_in_zone(std::string_view field, std::int64_t utc_us, const absl::TimeZone& zone, Datum& out) {
  out = Datum::of_integer(utc_us);
  if (is_infinite(TypeId::timestamptz, utc_us)) return {};
  const Result<std::int64_t> clock_us =
      truncate_clock(field, TypeId::timestamptz, local_of_utc(utc_us, zone));
  if (!clock_us.ok()) return clock_us.status();
  out = Datum::of_integer(utc_of_local(*clock_us, zone));
  return check_timestamp(out.integer);
}

Status truncate_timestamptz(Context context, Arguments a, Datum& out) {
  return truncate_in_zone(a[0].text, a[1].integer, context.time().zone, out);
}

// An offset counts hours west of UTC here, as in POSIX.
Result<absl::TimeZone> zone_named(std::string_view name) {
  const bool has_minutes = name.find(':') != std::string_view::npos;
  const bool is_offset = !has_minutes && (name.starts_with('+') || name.starts_with('-'));
  std::string turned(name);
  if (is_offset) turned[0] = name[0] == '+' ? '-' : '+';
  const std::optional<absl::TimeZone> zone = find_time_zone(turned);
  if (zone) return *zone;
  return Status(ErrorCode::invalid_parameter_value, "time zone \"" + std::string(name) + "\" not recognized");
}

Status truncate_in_named_zone(Context, Arguments a, Datum& out) {
  const Result<absl::TimeZone> zone = zone_named(a[2].text);
  return zone.ok() ? truncate_in_zone(a[0].text, a[1].integer, *zone, out) : zone.status();
}

Status take_interval(const Result<Interval>& interval, Datum& out) {
  if (!interval.ok()) return interval.status();
  out = Datum::of_interval(*interval);
  return {};
}

Status truncate_span(Context, Arguments a, Datum& out) {
  const Result<Interval> interval = truncate_interval(a[0].text, a[1].interval());
  if (!interval.ok()) return interval.status();
  out = Datum::of_interval(*interval);
  return {};
}

Status check_moment(std::int64_t timestamp_us) {
  return is_infinite_timestamp(timestamp_us) ? Status() : check_timestamp(timestamp_us);
}

// timestamptz AT TIME ZONE: that zone's clock.
Status clock_in_zone(Context, Arguments a, Datum& out) {
  const Result<absl::TimeZone> zone = zone_named(a[0].text);
  if (!zone.ok()) return zone.status();
  out = Datum::of_integer(local_of_utc(a[1].integer, *zone));
  return check_moment(out.integer);
}

// timestamp AT TIME ZONE: the moment at which that zone's clock shows it.
Status moment_in_zone(Context, Arguments a, Datum& out) {
  const Result<absl::TimeZone> zone = zone_named(a[0].text);
  if (!zone.ok()) return zone.status();
  out = Datum::of_integer(utc_of_local(a[1].integer, *zone));
  return check_moment(out.integer);
}

// timetz AT TIME ZONE: the same time by that zone's clock, with its offset of now.
Status time_in_zone(Context context, Arguments a, Datum& out) {
  const Result<absl::TimeZone> zone = zone_named(a[0].text);
  if (!zone.ok()) return zone.status();
  const ZonedTime time = zoned_time(a[1].integer);
  const std::int64_t offset_s = zone_offset_s(context.time().now_us, *zone);
  const std::int64_t moved_us = time.time_us + (offset_s - time.offset_s) * kSecond_us;
  out = Datum::of_integer(packed({day_time_of(moved_us).time_us, offset_s}));
  return {};
}

Status age_of(std::int64_t left_us, std::int64_t right_us, Datum& out) {
  if (is_infinite(TypeId::timestamp, left_us) || is_infinite(TypeId::timestamp, right_us))
    return Status(ErrorCode::datetime_out_of_range, "timestamp out of range");
  out = Datum::of_interval(age(left_us, right_us));
  return {};
}

Status timestamp_age(Context, Arguments a, Datum& out) {
  return age_of(a[0].integer, a[1].integer, out);
}

Status timestamptz_age(Context context, Arguments a, Datum& out) {
  const absl::TimeZone zone = context.time().zone;
  return age_of(local_of_utc(a[0].integer, zone), local_of_utc(a[1].integer, zone), out);
}

std::int64_t today_us(Context context) {
  const TimeContext time = context.time();
  return day_time_of(local_of_utc(time.now_us, time.zone)).days * kDay_us;
}

Status timestamp_age_today(Context context, Arguments a, Datum& out) {
  return age_of(today_us(context), a[0].integer, out);
}

Status timestamptz_age_today(Context context, Arguments a, Datum& out) {
  return age_of(today_us(context), local_of_utc(a[0].integer, context.time().zone), out);
}

Status timestamp_of_epoch(Context, Arguments a, Datum& out) {
  if (std::isinf(a[0].real)) {
    out = Datum::of_integer(a[0].real > 0 ? kTimestampInfinity : kTimestampMinusInfinity);
    return {};
  }
  const double since_2000_us = std::rint(a[0].real * 1e6 + static_cast<double>(kUnixEpoch_us));
  const bool fits = std::abs(since_2000_us) < 0x1p63;
  if (!fits || !check_timestamp(static_cast<std::int64_t>(since_2000_us)).ok()) {
    std::array<char, 64> shown;
    std::snprintf(shown.data(), shown.size(), "timestamp out of range: \"%g\"", a[0].real);
    return Status(ErrorCode::datetime_out_of_range, shown.data());
  }
  // The whole seconds are exact.
  const double seconds = std::floor(a[0].real);
  const auto rest_us = static_cast<std::int64_t>(std::rint((a[0].real - seconds) * 1e6));
  out = Datum::of_integer(static_cast<std::int64_t>(seconds) * kSecond_us + kUnixEpoch_us + rest_us);
  return {};
}

Result<std::int64_t> date_of(Arguments a) {
  const std::int64_t year = a[0].integer < 0 ? a[0].integer + 1 : a[0].integer;
  const CalendarDate date{year, a[1].integer, a[2].integer};
  const bool valid = a[0].integer != 0 && date.month >= 1 && date.month <= 12 && date.day >= 1 &&
                     date.day <= days_in_month(date.year, date.month);
  if (!valid) {
    const auto two_digits = [](std::int64_t number) {
      return (number >= 0 && number < 10 ? "0" : "") + std::to_string(number);
    };
    return Status(ErrorCode::datetime_out_of_range,
                  "date field value out of range: " + std::to_string(a[0].integer) + "-" +
                      two_digits(date.month) + "-" + two_digits(date.day));
  }
  const std::int64_t days = days_of_date(date);
  if (Status status = check_date(days); !status.ok()) return status;
  return days;
}

Status make_date(Context, Arguments a, Datum& out) {
  const Result<std::int64_t> days = date_of(a);
  if (!days.ok()) return days.status();
  out = Datum::of_integer(*days);
  return {};
}

// Whole days of 24 hours move from the time to the days; the signs agree then.
Status justify_hours(Context, Arguments a, Datum& out) {
  return take_interval(justified(a[0].interval(), {.hours = true, .days = false}), out);
}

Status justify_days(Context, Arguments a, Datum& out) {
  return take_interval(justified(a[0].interval(), {.hours = false, .days = true}), out);
}

Status justify_interval(Context, Arguments a, Datum& out) {
  return take_interval(justified(a[0].interval(), {.hours = true, .days = true}), out);
}

// Years, months, weeks, days, hours, minutes, seconds.
Status make_interval(Context, Arguments a, Datum& out) {
  const Status out_of_range(ErrorCode::datetime_out_of_range, "interval out of range");
  if (!std::isfinite(a[6].real)) return out_of_range;
  Interval interval;
  std::int64_t months = a[0].integer * 12 + a[1].integer;
  std::int64_t days = a[2].integer * 7 + a[3].integer;
  const double seconds_us = std::rint(a[6].real * 1e6);
  const double whole_us = static_cast<double>(a[4].integer) * kHour_us +
                          static_cast<double>(a[5].integer) * kMinute_us + seconds_us;
  if (months != static_cast<std::int32_t>(months) || days != static_cast<std::int32_t>(days) ||
      !(std::abs(whole_us) < 0x1p63))
    return out_of_range;
  interval.months = static_cast<std::int32_t>(months);
  interval.days = static_cast<std::int32_t>(days);
  interval.time_us =
      a[4].integer * kHour_us + a[5].integer * kMinute_us + static_cast<std::int64_t>(seconds_us);
  out = Datum::of_interval(interval);
  return {};
}

template <TypeId kType>
Status to_char(Context context, Arguments a, Datum& out) {
  if (is_infinite(kType, a[0].integer)) {
    out = Datum();
    return {};
  }
  std::int64_t offset_s = 0;
  std::string zone;
  if (kType == TypeId::timestamptz) {
    offset_s = zone_offset_s(a[0].integer, context.time().zone);
    zone = zone_abbreviation(a[0].integer, context.time().zone);
  }
  const ShownTime shown{clock_of(context, kType, a[0].integer), offset_s, zone};
  const Result<std::string> text = format_time(a[1].text, shown);
  if (!text.ok()) return text.status();
  context.work->charge_bytes(text->size());
  out = Datum::of_text(context.arena->copy(*text));
  return {};
}

Status to_date(Context, Arguments a, Datum& out) {
  const Result<ReadTime> read = read_time(a[0].text, a[1].text);
  if (!read.ok()) return read.status();
  out = Datum::of_integer(day_time_of(read->clock_us).days);
  return {};
}

Status to_timestamp(Context context, Arguments a, Datum& out) {
  const Result<ReadTime> read = read_time(a[0].text, a[1].text);
  if (!read.ok()) return read.status();
  const std::int64_t moment_us = read->offset_s ? read->clock_us - *read->offset_s * kSecond_us
                                                : utc_of_local(read->clock_us, context.time().zone);
  out = Datum::of_integer(moment_us);
  return check_timestamp(moment_us);
}

template <TypeId kType>
Status is_finite(Context, Arguments a, Datum& out) {
  out = Datum::of_boolean(!is_infinite(kType, a[0].integer));
  return {};
}

// Intervals are finite.
Status is_any(Context, Arguments, Datum& out) {
  out = Datum::of_boolean(true);
  return {};
}

Status current_date(Context context, Arguments, Datum& out) {
  out = Datum::of_integer(day_time_of(today_us(context)).days);
  return {};
}

Status local_time(Context context, Arguments, Datum& out) {
  const TimeContext time = context.time();
  out = Datum::of_integer(day_time_of(local_of_utc(time.now_us, time.zone)).time_us);
  return {};
}

Status current_time(Context context, Arguments, Datum& out) {
  const TimeContext time = context.time();
  out = Datum::of_integer(packed(zoned_time_at(time.now_us, time.zone)));
  return {};
}

}  // namespace

std::span<const Function> time_functions() {
  using enum TypeId;
  static const std::vector<Function> functions = {
      {"extract", {text, timestamp}, numeric, extract<timestamp>},
      {"extract", {text, timestamptz}, numeric, extract<timestamptz>},
      {"extract", {text, date}, numeric, extract<date>},
      {"extract", {text, time}, numeric, extract<time>},
      {"extract", {text, timetz}, numeric, extract<timetz>},
      {"extract", {text, interval}, numeric, extract<interval>},
      {"date_part", {text, timestamp}, float8, date_part<timestamp>},
      {"date_part", {text, timestamptz}, float8, date_part<timestamptz>},
      {"date_part", {text, date}, float8, date_part<date>},
      {"date_part", {text, time}, float8, date_part<time>},
      {"date_part", {text, timetz}, float8, date_part<timetz>},
      {"date_part", {text, interval}, float8, date_part<interval>},
      {"date_trunc", {text, timestamp}, timestamp, truncate_timestamp},
      {"date_trunc", {text, timestamptz}, timestamptz, truncate_timestamptz},
      {"date_trunc", {text, timestamptz, text}, timestamptz, truncate_in_named_zone},
      {"date_trunc", {text, interval}, interval, truncate_span},
      {"timezone", {text, timestamp}, timestamptz, moment_in_zone},
      {"timezone", {text, timestamptz}, timestamp, clock_in_zone},
      {"timezone", {text, timetz}, timetz, time_in_zone},
      {"age", {timestamp, timestamp}, interval, timestamp_age},
      {"age", {timestamptz, timestamptz}, interval, timestamptz_age},
      {"age", {timestamp}, interval, timestamp_age_today},
      {"age", {timestamptz}, interval, timestamptz_age_today},
      {"justify_hours", {interval}, interval, justify_hours},
      {"justify_days", {interval}, interval, justify_days},
      {"justify_interval", {interval}, interval, justify_interval},
      {"make_interval", {int4, int4, int4, int4, int4, int4, float8}, interval, make_interval},
      {"to_timestamp", {float8}, timestamptz, timestamp_of_epoch},
      {"to_timestamp", {text, text}, timestamptz, to_timestamp},
      {"to_date", {text, text}, date, to_date},
      {"make_date", {int4, int4, int4}, date, make_date},
      {"to_char", {timestamp, text}, text, to_char<timestamp>},
      {"to_char", {timestamptz, text}, text, to_char<timestamptz>},
      {"isfinite", {interval}, boolean, is_any},
      {"isfinite", {date}, boolean, is_finite<date>},
      {"isfinite", {timestamp}, boolean, is_finite<timestamp>},
      {"isfinite", {timestamptz}, boolean, is_finite<timestamptz>},
      {"current_date", {}, date, current_date},
      {"current_time", {}, timetz, current_time},
      {"localtime", {}, time, local_time},
  };
  return functions;
}

}  // namespace namdb::sql
