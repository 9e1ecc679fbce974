// Intervals: months, days and microseconds, which do not convert into each other, since months and days
// differ in their lengths. As text in PostgreSQL's own style.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/value/decimal.h"
#include "compute/sql/value/interval_parts.h"
#include "compute/sql/value/time_zone.h"

namespace namdb::sql {

// "1 year 2 mons -3 days 04:05:06.7".
void append_interval(std::string& out, const Interval& interval);
// Bits of the fields of an interval, in the upper half of a type's modifier; the lower half has the digits of
// seconds.
inline constexpr std::int32_t kMonthField = 1 << 1;
inline constexpr std::int32_t kYearField = 1 << 2;
inline constexpr std::int32_t kDayField = 1 << 3;
inline constexpr std::int32_t kHourField = 1 << 10;
inline constexpr std::int32_t kMinuteField = 1 << 11;
inline constexpr std::int32_t kSecondField = 1 << 12;
inline constexpr std::int32_t kAllFields = 0x7fff;
inline constexpr std::int32_t kAnyDigits = 0xffff;
// The interval with the fields and digits that the modifier names; -1: all.
Interval restricted(const Interval& interval, std::int32_t modifier);
// The text behind the name in "interval(3)" or "interval day to second(3)".
std::string interval_fields(std::int32_t modifier);

// That form, words for units ("2 hours ago"), and ISO 8601 ("P1DT2H"). Of the fields that a type names the
// last one is that of a number without a unit; smaller ones are not dropped. Errors invalid_datetime,
// datetime_out_of_range, interval_overflow.
Result<Interval> parse_interval(std::string_view text, std::int32_t fields = kAllFields);

// In microseconds, with months of 30 days and days of 24 hours: intervals are compared by it.
Int128 comparable_us(const Interval& interval);

// Errors datetime_out_of_range.
Result<Interval> add(const Interval& left, const Interval& right);
Result<Interval> negate(const Interval& interval);
// Fractions of months go to the days, and fractions of days to the time.
Result<Interval> multiply(const Interval& interval, double factor);
// `divisor` is not 0.
Result<Interval> divide(const Interval& interval, double divisor);
// Which parts are moved to the next larger ones: hours to days of 24, days to months of 30.
struct Justification {
  bool hours = false;
  bool days = false;
};
// So that the smaller part is less than one of the larger, and their signs agree.
Result<Interval> justified(const Interval& interval, Justification what);
// Whole days of the time.
Interval with_days(std::int64_t time_us);

// The timestamp that much later: first the months, then the days, then the time. Infinities stay.
Result<std::int64_t> add_interval(std::int64_t timestamp_us, const Interval& interval);
// The same of a moment of UTC: months and days are those of the zone's clock.
Result<std::int64_t> add_interval(std::int64_t utc_us, const Interval& interval, const absl::TimeZone& zone);
// The time from `right` to `left`, in years, months and days of the calendar; neither is infinite.
Interval age(std::int64_t left_us, std::int64_t right_us);

}  // namespace namdb::sql
