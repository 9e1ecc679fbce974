#include "compute/sql/expression/time_fields.h"

#include <algorithm>
#include <array>
#include <string>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/timestamp.h"

namespace namdb::sql {
namespace {

enum class Field : std::uint8_t {
  microseconds,
  milliseconds,
  second,
  minute,
  hour,
  day,
  week,
  month,
  quarter,
  year,
  decade,
  century,
  millennium,
  epoch,
  day_of_week,
  iso_day_of_week,
  day_of_year,
  iso_year,
  julian,
  zone,
  zone_hour,
  zone_minute,
};

struct Name {
  std::string_view name;
  Field field;
};

constexpr auto kNames = std::to_array<Name>({
    {"microsecond", Field::microseconds},
    {"microseconds", Field::microseconds},
    {"us", Field::microseconds},
    {"usec", Field::microseconds},
    {"millisecond", Field::milliseconds},
    {"milliseconds", Field::milliseconds},
    {"ms", Field::milliseconds},
    {"msec", Field::milliseconds},
    {"second", Field::second},
    {"seconds", Field::second},
    {"sec", Field::second},
    {"s", Field::second},
    {"minute", Field::minute},
    {"minutes", Field::minute},
    {"min", Field::minute},
    {"m", Field::minute},
    {"hour", Field::hour},
    {"hours", Field::hour},
    {"h", Field::hour},
    {"day", Field::day},
    {"days", Field::day},
    {"d", Field::day},
    {"week", Field::week},
    {"weeks", Field::week},
    {"w", Field::week},
    {"month", Field::month},
    {"months", Field::month},
    {"mon", Field::month},
    {"quarter", Field::quarter},
    {"qtr", Field::quarter},
    {"year", Field::year},
    {"years", Field::year},
    {"y", Field::year},
    {"decade", Field::decade},
    {"decades", Field::decade},
    {"century", Field::century},
    {"centuries", Field::century},
    {"millennium", Field::millennium},
    {"millennia", Field::millennium},
    {"epoch", Field::epoch},
    {"dow", Field::day_of_week},
    {"isodow", Field::iso_day_of_week},
    {"doy", Field::day_of_year},
    {"isoyear", Field::iso_year},
    {"julian", Field::julian},
    {"timezone", Field::zone},
    {"timezone_hour", Field::zone_hour},
    {"timezone_minute", Field::zone_minute},
});

std::optional<Field> field_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, in_lower_case(name), &Name::name);
  return found == kNames.end() ? std::nullopt : std::optional(found->field);
}

Status unknown_field(std::string_view field, TypeId type) {
  return Status(
      ErrorCode::invalid_parameter_value,
      "unit \"" + in_lower_case(field) + "\" not recognized for type " + std::string(type_name(type)));
}

Status missing_field(std::string_view field, TypeId type) {
  return Status(
      ErrorCode::feature_not_supported,
      "unit \"" + in_lower_case(field) + "\" not supported for type " + std::string(type_name(type)));
}

// Fields of years; year 0 is 1 BC, which has no number between -1 and 1.
std::int64_t year_field(Field field, std::int64_t year) {
  switch (field) {
    case Field::decade:
      return year >= 0 ? year / 10 : -((8 - (year - 1)) / 10);
    case Field::century:
      return century_of(year);
    case Field::millennium:
      return year > 0 ? (year + 999) / 1000 : -((999 - (year - 1)) / 1000);
    default:
      return year > 0 ? year : year - 1;
  }
}

Decimal whole(std::int64_t value) {
  return {value, 0};
}

std::optional<Decimal> time_field(Field field, std::int64_t time_us) {
  const std::int64_t seconds = time_us / kSecond_us;
  switch (field) {
    case Field::microseconds:
      return whole(time_us % kMinute_us);
    case Field::milliseconds:
      return Decimal{time_us % kMinute_us, 3};
    case Field::second:
      return Decimal{time_us % kMinute_us, 6};
    case Field::minute:
      return whole(seconds / 60 % 60);
    case Field::hour:
      return whole(seconds / 3600);
    default:
      return std::nullopt;
  }
}

std::optional<Decimal> date_field(Field field, std::int64_t days) {
  const CalendarDate date = date_of_days(days);
  switch (field) {
    case Field::day:
      return whole(date.day);
    case Field::month:
      return whole(date.month);
    case Field::quarter:
      return whole((date.month - 1) / 3 + 1);
    case Field::week:
      return whole(iso_week_of(days).week);
    case Field::iso_year:
      return whole(year_field(Field::year, iso_week_of(days).year));
    case Field::year:
    case Field::decade:
    case Field::century:
    case Field::millennium:
      return whole(year_field(field, date.year));
    case Field::day_of_week:
      return whole(day_of_week(days));
    case Field::iso_day_of_week:
      return whole((day_of_week(days) + 6) % 7 + 1);
    case Field::day_of_year:
      return whole(day_of_year(date));
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<Decimal> field_of_date(std::string_view name, std::int64_t days) {
  const std::optional<Field> field = field_named(name);
  if (!field) return unknown_field(name, TypeId::date);
  if (*field == Field::epoch) return whole(days * (kDay_us / kSecond_us) - kUnixEpoch_us / kSecond_us);
  if (*field == Field::julian) return whole(days + kJulianDay);
  const std::optional<Decimal> value = date_field(*field, days);
  return value ? Result<Decimal>(*value) : missing_field(name, TypeId::date);
}

Result<Decimal> clock_field(std::string_view name, TypeId type, std::int64_t clock_us,
                            std::optional<std::int64_t> offset_s) {
  const std::optional<Field> field = field_named(name);
  if (!field) return unknown_field(name, type);
  const DayTime parts = day_time_of(clock_us);
  const bool has_date = Type{type}.type_class() != TypeClass::time_of_day;
  const bool has_time = type != TypeId::date;
  if (*field == Field::epoch) {
    const std::int64_t epoch_us = clock_us - offset_s.value_or(0) * kSecond_us;
    if (!has_date) return Decimal{epoch_us, 6};
    if (!has_time) return whole((epoch_us - kUnixEpoch_us) / kSecond_us);
    return Decimal{Int128{epoch_us} - kUnixEpoch_us, 6};
  }
  if (has_date && *field == Field::julian) {
    if (!has_time) return whole(parts.days + kJulianDay);
    Result<Decimal> fraction = divide({parts.time_us, 0}, {kDay_us, 0});
    return fraction.ok() ? add(*fraction, {parts.days + kJulianDay, 0}) : fraction;
  }
  if (offset_s && *field == Field::zone) return whole(*offset_s);
  if (offset_s && *field == Field::zone_hour) return whole(*offset_s / 3600);
  if (offset_s && *field == Field::zone_minute) return whole(*offset_s / 60 % 60);
  std::optional<Decimal> value;
  // 24:00 is a time of day.
  if (has_time) value = time_field(*field, has_date ? parts.time_us : clock_us);
  if (!value && has_date) value = date_field(*field, parts.days);
  return value ? Result<Decimal>(*value) : missing_field(name, type);
}

Result<Decimal> interval_field(std::string_view name, const Interval& interval) {
  const std::optional<Field> field = field_named(name);
  if (!field) return unknown_field(name, TypeId::interval);
  const std::int64_t years = interval.months / 12;
  switch (*field) {
    case Field::day:
      return whole(interval.days);
    case Field::month:
      return whole(interval.months % 12);
    case Field::quarter:
      return whole(interval.months % 12 / 3 + 1);
    case Field::year:
      return whole(years);
    case Field::decade:
      return whole(years / 10);
    case Field::century:
      return whole(years / 100);
    case Field::millennium:
      return whole(years / 1000);
    case Field::epoch: {
      // A year has 365.25 days here, and a month 30.
      const Int128 days_us = Int128{years} * 1461 * (kDay_us / 4) +
                             Int128{interval.months % 12} * 30 * kDay_us + Int128{interval.days} * kDay_us;
      return Decimal{days_us + interval.time_us, 6};
    }
    default:
      break;
  }
  const std::optional<Decimal> value = time_field(*field, interval.time_us);
  return value ? Result<Decimal>(*value) : missing_field(name, TypeId::interval);
}

bool grows_with_time(std::string_view name) {
  const std::optional<Field> field = field_named(name);
  if (!field) return false;
  return (*field >= Field::year && *field <= Field::epoch) || *field == Field::iso_year ||
         *field == Field::julian;
}

Result<std::int64_t> truncate_clock(std::string_view name, TypeId type, std::int64_t clock_us) {
  const std::optional<Field> field = field_named(name);
  if (!field) return unknown_field(name, type);
  const DayTime parts = day_time_of(clock_us);
  const CalendarDate date = date_of_days(parts.days);
  const auto within_day = [&](std::int64_t unit_us) {
    return parts.days * kDay_us + parts.time_us / unit_us * unit_us;
  };
  const auto since = [](std::int64_t year, std::int64_t month) {
    return days_of_date({year, month, 1}) * kDay_us;
  };
  const auto first_year = [&](std::int64_t years) {
    const std::int64_t number = year_field(years == 100 ? Field::century : Field::millennium, date.year);
    return number > 0 ? (number - 1) * years + 1 : number * years + 1;
  };
  switch (*field) {
    case Field::microseconds:
      return clock_us;
    case Field::milliseconds:
      return within_day(1000);
    case Field::second:
      return within_day(kSecond_us);
    case Field::minute:
      return within_day(kMinute_us);
    case Field::hour:
      return within_day(kHour_us);
    case Field::day:
      return within_day(kDay_us);
    case Field::week:
      return (parts.days - (day_of_week(parts.days) + 6) % 7) * kDay_us;
    case Field::month:
      return since(date.year, date.month);
    case Field::quarter:
      return since(date.year, (date.month - 1) / 3 * 3 + 1);
    case Field::year:
      return since(date.year, 1);
    case Field::decade:
      return since(date.year >= 0 ? date.year / 10 * 10 : -((8 - (date.year - 1)) / 10 * 10), 1);
    case Field::century:
      return since(first_year(100), 1);
    case Field::millennium:
      return since(first_year(1000), 1);
    default:
      return missing_field(name, type);
  }
}

Result<Interval> truncate_interval(std::string_view name, const Interval& interval) {
  const std::optional<Field> field = field_named(name);
  if (!field) return unknown_field(name, TypeId::interval);
  const auto time = [&](std::int64_t unit_us) {
    return Interval{interval.months, interval.days, interval.time_us / unit_us * unit_us};
  };
  const auto months = [&](std::int32_t unit) { return Interval{interval.months / unit * unit, 0, 0}; };
  switch (*field) {
    case Field::microseconds:
      return interval;
    case Field::milliseconds:
      return time(1000);
    case Field::second:
      return time(kSecond_us);
    case Field::minute:
      return time(kMinute_us);
    case Field::hour:
      return time(kHour_us);
    case Field::day:
      return Interval{interval.months, interval.days, 0};
    case Field::month:
      return months(1);
    case Field::quarter:
      return months(3);
    case Field::year:
      return months(12);
    case Field::decade:
      return months(120);
    case Field::century:
      return months(1200);
    case Field::millennium:
      return months(12'000);
    default:
      return missing_field(name, TypeId::interval);
  }
}

}  // namespace namdb::sql
