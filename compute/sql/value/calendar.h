// The proleptic Gregorian calendar, in days since 2000-01-01, and units of time. There are no leap seconds.
#pragma once

#include <cstdint>
#include <limits>

namespace namdb::sql {

inline constexpr std::int64_t kSecond_us = 1'000'000;
inline constexpr std::int64_t kMinute_us = 60 * kSecond_us;
inline constexpr std::int64_t kHour_us = 60 * kMinute_us;
inline constexpr std::int64_t kDay_us = 24 * kHour_us;

inline constexpr std::int64_t kTimestampInfinity = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kTimestampMinusInfinity = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kDateInfinity = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t kDateMinusInfinity = std::numeric_limits<std::int32_t>::min();
inline bool is_infinite_timestamp(std::int64_t timestamp_us) {
  return timestamp_us == kTimestampInfinity || timestamp_us == kTimestampMinusInfinity;
}
inline bool is_infinite_date(std::int64_t days) {
  return days == kDateInfinity || days == kDateMinusInfinity;
}
// 1970-01-01 in microseconds since 2000-01-01.
inline constexpr std::int64_t kUnixEpoch_us = -946'684'800'000'000;

// Years count through 0, which is 1 BC; months and days from 1.
struct CalendarDate {
  std::int64_t year = 2000;
  std::int64_t month = 1;
  std::int64_t day = 1;
};

std::int64_t days_of_date(const CalendarDate& date);
CalendarDate date_of_days(std::int64_t days);
std::int64_t days_in_month(std::int64_t year, std::int64_t month);
// From 1 to 366.
std::int64_t day_of_year(const CalendarDate& date);
// From 0, a Sunday, to 6.
std::int64_t day_of_week(std::int64_t days);

// The century of the year, which counts through 0; there is no century 0.
std::int64_t century_of(std::int64_t year);
// The Julian day of 2000-01-01.
inline constexpr std::int64_t kJulianDay = 2'451'545;

// A week of ISO 8601 begins with a Monday, and belongs to the year that has most of it.
struct IsoWeek {
  std::int64_t year = 2000;
  std::int64_t week = 1;
};
IsoWeek iso_week_of(std::int64_t days);

// A moment of a day: the day, and the microseconds since its midnight, which are not negative.
struct DayTime {
  std::int64_t days = 0;
  std::int64_t time_us = 0;
};
DayTime day_time_of(std::int64_t timestamp_us);

}  // namespace namdb::sql
