#include "compute/sql/value/calendar.h"

#include <array>

namespace namdb::sql {
namespace {

bool is_leap(std::int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

}  // namespace

// By counting years from March: the leap day is last.
std::int64_t days_of_date(const CalendarDate& date) {
  const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t in_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
  const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + in_year;
  return era * 146'097 + day_of_era - 730'425;
}

CalendarDate date_of_days(std::int64_t days) {
  days += 730'425;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t in_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * in_year + 2) / 153;
  const std::int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, in_year - (153 * shifted_month + 2) / 5 + 1};
}

std::int64_t days_in_month(std::int64_t year, std::int64_t month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

std::int64_t day_of_year(const CalendarDate& date) {
  return days_of_date(date) - days_of_date({date.year, 1, 1}) + 1;
}

std::int64_t day_of_week(std::int64_t days) {
  constexpr std::int64_t kSaturday = 6;  // 2000-01-01
  return ((days + kSaturday) % 7 + 7) % 7;
}

std::int64_t century_of(std::int64_t year) {
  return year > 0 ? (year + 99) / 100 : -((99 - (year - 1)) / 100);
}

IsoWeek iso_week_of(std::int64_t days) {
  const std::int64_t from_monday = (day_of_week(days) + 6) % 7;
  const std::int64_t thursday = days - from_monday + 3;
  const CalendarDate date = date_of_days(thursday);
  return {date.year, (day_of_year(date) - 1) / 7 + 1};
}

DayTime day_time_of(std::int64_t timestamp_us) {
  DayTime parts{timestamp_us / kDay_us, timestamp_us % kDay_us};
  if (parts.time_us < 0) {
    parts.time_us += kDay_us;
    --parts.days;
  }
  return parts;
}

}  // namespace namdb::sql
